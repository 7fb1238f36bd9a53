#include "tasks/parse/feature_names.hpp"

#include <algorithm>
#include <charconv>
#include <stdexcept>

namespace marginloom {
namespace {

constexpr char escape = '\x1E';

// Writes the separator otherwise where it is a part of the value that begins there.
void escape_value(std::string& name, std::size_t begin) {
  for (std::size_t place = begin; place < name.size(); ++place) {
    if (name[place] != value_separator && name[place] != escape) continue;
    name.insert(place + 1, 1, name[place] == escape ? '0' : '1');
    name[place++] = escape;
  }
}

std::string unescaped(std::string_view written) {
  std::string value;
  for (std::size_t place = 0; place < written.size(); ++place) {
    const bool escapes = written[place] == escape && place + 1 < written.size();
    value += !escapes ? written[place] : written[++place] == '0' ? escape : value_separator;
  }
  return value;
}

}  // namespace

std::uint64_t mixed(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
  return x ^ (x >> 31);
}

std::uint64_t text_hash(std::string_view text) {
  std::uint64_t hash = 0x9E3779B97F4A7C15ULL ^ text.size();
  for (const char letter : text) hash = mixed(hash ^ static_cast<unsigned char>(letter));
  return hash == 0 ? 1 : hash;
}

void append_name_value(const AtomReader& reader, const Atom& atom, std::size_t token, std::string& name) {
  const std::size_t begin = name.size();
  if (atom.kind == Atom::Kind::gazetteer) {
    for (const std::string& match : reader.gazetteer_matches(token)) name += match + '|';
  } else {
    reader.append_value(atom, token, name);
  }
  escape_value(name, begin);
}

std::vector<std::string> values_in(std::string_view name, const std::vector<Template>& templates, std::size_t& line) {
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), line);
  const auto used = static_cast<std::size_t>(end - name.data());
  if (error != std::errc() || line >= templates.size() || used >= name.size() || name[used] != ':') {
    throw std::invalid_argument("a feature's name does not begin with the number of a template");
  }
  std::vector<std::string> values;
  for (std::size_t begin = used + 1; begin <= name.size();) {
    const std::size_t stop = std::min(name.find(value_separator, begin), name.size());
    values.push_back(unescaped(name.substr(begin, stop - begin)));
    begin = stop + 1;
  }
  if (values.size() != templates[line].atoms.size()) {
    throw std::invalid_argument("a feature's name has not as many values as its template has atoms");
  }
  return values;
}

std::string described(std::string_view name, const std::vector<Template>& templates) {
  std::size_t line = 0;
  const auto values = values_in(name, templates, line);
  std::string text;
  std::string_view rest = templates[line].name;
  for (const std::string& value : values) {
    const std::string_view atom = rest.substr(0, rest.find(' '));
    rest.remove_prefix(std::min(atom.size() + 1, rest.size()));
    if (atom == "label") continue;
    (text += text.empty() ? "" : " ") += atom;
    if (!value.empty()) (text += '=') += value;
  }
  return text;
}

}  // namespace marginloom
