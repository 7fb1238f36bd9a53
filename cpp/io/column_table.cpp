#include "io/column_table.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "core/shown.hpp"

namespace marginloom {
namespace {

constexpr std::string_view document_mark = "-DOCSTART-";
constexpr std::string_view digits = "0123456789";

bool is_space(char c) {
  return c == ' ' || c == '\t';
}

// Takes the first cell off the line; empty when there is none left.
std::string_view take_cell(std::string_view& line, bool tabs_only) {
  if (tabs_only) {
    const std::size_t end = std::min(line.find('\t'), line.size());
    const std::string_view cell = line.substr(0, end);
    line.remove_prefix(std::min(end + 1, line.size()));
    return cell;
  }
  const auto begin = std::ranges::find_if_not(line, is_space);
  const auto end = std::find_if(begin, line.end(), is_space);
  const std::string_view cell(begin, end);
  line = std::string_view(end, line.end());
  return cell;
}

// Whether a line has tabs, and between them cells with spaces within.
bool has_spaces_within(std::string_view line, std::size_t cells) {
  if (line.find('\t') == std::string_view::npos) return false;
  std::size_t between_tabs = 0;
  while (!line.empty()) between_tabs += !std::ranges::all_of(take_cell(line, true), is_space);
  return between_tabs < cells;
}

// The cell of a line in a column that tabs separate; empty beyond the last one.
std::string_view cell_of(std::string_view line, std::size_t column) {
  for (; column > 0; --column) take_cell(line, true);
  return take_cell(line, true);
}

// Whether an ID is that of a multiword range (1-2) or of an empty node (1.1).
bool is_between(std::string_view id) {
  const std::size_t middle = id.find_first_not_of(digits);
  if (middle == 0 || middle == std::string_view::npos || (id[middle] != '-' && id[middle] != '.')) return false;
  return middle + 1 < id.size() && id.find_first_not_of(digits, middle + 1) == std::string_view::npos;
}

}  // namespace

ColumnTable::ColumnTable(std::string text, ColumnFormat format, std::string name, std::size_t first_line,
                         std::size_t columns, StopRequest stop)
    : text_(std::move(text)), format_(format), name_(std::move(name)), first_line_(first_line), columns_(columns) {
  bool has_clean_tabs = false;
  const auto end_sentence = [&] {
    if (lines_.size() > sentences_.back()) sentences_.push_back(lines_.size());
  };
  std::size_t number = first_line;
  for (std::size_t position = 0; position < text_.size(); ++number) {
    stop.check();
    const std::size_t begin = position;
    const std::string_view line = line_at(position);
    const Line kind = classify(line);
    if (kind == Line::blank || kind == Line::document_start) end_sentence();
    if (kind != Line::token && kind != Line::between) continue;
    const std::size_t cells = count_cells(line);
    if (columns_ == 0) columns_ = format_.columns ? format_.columns : cells;
    const bool has_spaces = !format_.tabs_only && has_spaces_within(line, cells);
    check_count(cells, number, has_spaces);
    if (kind == Line::between) continue;
    check_id(line, number);
    if (has_spaces && !line_with_spaces_) line_with_spaces_ = number;
    has_clean_tabs |= !has_spaces && line.find('\t') != std::string_view::npos;
    lines_.push_back(begin);
  }
  end_sentence();
  if (line_with_spaces_ && has_clean_tabs && !format_.tabs_only) {
    refuse(*line_with_spaces_,
           "found a space within what tabs separate, which other lines have not, so that its columns "
           "are not theirs; write something else for the space, such as _");
  }
}

void ColumnTable::check_count(std::size_t cells, std::size_t number, bool has_spaces) const {
  if (cells == columns_) return;
  std::string problem = "found " + std::to_string(cells) + (cells == 1 ? " column, expected " : " columns, expected ") +
                        std::to_string(columns_);
  if (format_.tabs_only && !format_.comments) {
    problem += " separated by tabs, as in CoNLL-X (another format needs --format)";
  } else if (format_.tabs_only) {
    problem += columns_ == ColumnFormat::conllu.columns
                   ? " separated by tabs, as in CoNLL-U (another format needs --format)"
                   : " separated by tabs, as # global.columns says";
  } else {
    problem += " as in the lines before";
  }
  if (has_spaces) problem += "; it has tabs, and spaces within what they separate: write something else, such as _";
  refuse(number, problem);
}

// What is neither the number of a token nor that of a row between tokens must not pass for one of them.
void ColumnTable::check_id(std::string_view line, std::size_t number) const {
  if (!format_.id) return;
  const std::string_view id = cell_of(line, *format_.id);
  if (!id.empty() && id.find_first_not_of(digits) == std::string_view::npos) return;
  refuse(number, "found the ID '" + shown(id) +
                     "', expected a number, or numbers as in 1-2 for a range of words and 1.1 for an empty node");
}

void ColumnTable::refuse(std::size_t number, const std::string& problem) const {
  throw std::invalid_argument(name_ + ", line " + std::to_string(number) + ": " + problem);
}

// The line that begins at `position`, without its end; `position` moves on to the next.
std::string_view ColumnTable::line_at(std::size_t& position) const {
  const std::size_t begin = position;
  const std::size_t end = std::min(text_.find('\n', begin), text_.size());
  position = std::min(end + 1, text_.size());
  std::string_view line(text_.data() + begin, end - begin);
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  return line;
}

ColumnTable::Line ColumnTable::classify(std::string_view line) const {
  if (std::ranges::all_of(line, is_space)) return Line::blank;
  if (format_.tabs_only) {
    if (format_.comments && line.front() == '#') return Line::other;
    return format_.id && is_between(cell_of(line, *format_.id)) ? Line::between : Line::token;
  }
  std::string_view rest = line;
  return take_cell(rest, false) == document_mark ? Line::document_start : Line::token;
}

std::size_t ColumnTable::count_cells(std::string_view line) const {
  if (format_.tabs_only) return static_cast<std::size_t>(std::ranges::count(line, '\t')) + 1;
  std::size_t count = 0;
  while (!take_cell(line, false).empty()) ++count;
  return count;
}

std::string_view ColumnTable::cell(std::size_t token, std::size_t column) const {
  std::size_t position = lines_[token];
  std::string_view line = line_at(position);
  for (; column > 0; --column) take_cell(line, format_.tabs_only);
  return take_cell(line, format_.tabs_only);
}

std::size_t ColumnTable::line_number(std::size_t token) const {
  return first_line_ + static_cast<std::size_t>(
                           std::count(text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(lines_[token]), '\n'));
}

// The line with cells[places[c]] for the cell of column c; columns whose place is beyond the cells stay.
void ColumnTable::append_replaced(std::string& text, std::string_view line, const std::vector<std::size_t>& places,
                                  Cells cells) const {
  for (std::size_t c = 0; c < columns_; ++c) {
    const std::string_view old = take_cell(line, true);
    text.append(places[c] < cells.size() ? cells[places[c]] : old);
    if (c + 1 < columns_) text.push_back('\t');
  }
}

std::string ColumnTable::with_cells(const std::vector<std::string_view>& cells,
                                    const std::vector<std::size_t>& columns) const {
  const std::size_t k = columns.size();
  std::vector<std::size_t> places(columns_, k);
  for (std::size_t i = 0; i < k; ++i) {
    if (columns[i] < columns_) places[columns[i]] = i;
  }
  std::string result;
  result.reserve(text_.size() + 8 * cells.size());
  std::size_t token = 0;
  for (std::size_t position = 0; position < text_.size();) {
    const std::string_view line = line_at(position);
    const char* end = line.data() + line.size();
    const bool has_carriage_return = end < text_.data() + text_.size() && *end == '\r';
    const Line kind = classify(line);
    const Cells own = kind == Line::token ? Cells(cells).subspan(token++ * k, k) : Cells();
    if (kind == Line::token && format_.tabs_only) {
      append_replaced(result, line, places, own);
    } else {
      result.append(line);
      const char separator = line.find('\t') == std::string_view::npos ? ' ' : '\t';
      for (const std::string_view cell : own) (result += separator) += cell;
      for (std::size_t i = 0; i < k && kind == Line::document_start; ++i) (result += separator) += 'O';
    }
    if (has_carriage_return) result.push_back('\r');
    result.push_back('\n');
  }
  return result;
}

}  // namespace marginloom
