#include "core/leading.hpp"

#include <array>
#include <bit>
#include <functional>
#include <limits>

#include "core/kernels.hpp"

namespace marginloom {
namespace {

constexpr std::size_t few_places = 64;
constexpr double no_value = -std::numeric_limits<double>::infinity();

}  // namespace

// Fills places_ with those that may be among the wanted ones.
void Leading::list(const double* values, std::size_t count, std::size_t wanted, std::size_t sure) {
  const double reached =
      wanted <= row_alignment ? kernels().reached_by_several(values, sure) : reached_by_many(values, sure, wanted);
  places_.resize(count);
  places_.resize(kernels().places_not_below(values, 0, reached, count, places_.data()));
  if (reached > no_value) return;
  std::erase_if(places_, [&](std::uint32_t place) { return !(values[place] > no_value); });
}

// A number that as many values reach as are wanted: that one of the greatest values of short runs.
double Leading::reached_by_many(const double* values, std::size_t count, std::size_t wanted) {
  const std::size_t run = count / (4 * wanted);
  if (run == 0) return no_value;
  greatest_.clear();
  for (std::size_t first = 0; first < count; first += run) {
    greatest_.push_back(*std::max_element(values + first, values + std::min(first + run, count)));
  }
  const auto last = greatest_.begin() + static_cast<std::ptrdiff_t>(wanted - 1);
  std::nth_element(greatest_.begin(), last, greatest_.end(), std::greater{});
  return *last;
}

// Sorts places_ unless there are many, or two with equal values.
bool Leading::rank(const double* values) {
  const std::size_t count = places_.size();
  if (count > few_places) return false;
  std::array<double, few_places> listed;
  const std::size_t end = padded(count);
  for (std::size_t k = 0; k < end; ++k) listed[k] = k < count ? values[places_[k]] : no_value;
  std::array<std::uint32_t, few_places> above;
  kernels().count_above(listed.data(), end, above.data());
  std::array<std::uint32_t, few_places> ranked;
  std::uint64_t taken = 0;
  for (std::size_t k = 0; k < count; ++k) {
    ranked[above[k]] = places_[k];
    taken |= std::uint64_t{1} << above[k];
  }
  if (static_cast<std::size_t>(std::popcount(taken)) != count) return false;
  std::copy_n(ranked.begin(), count, places_.begin());
  return true;
}

}  // namespace marginloom
