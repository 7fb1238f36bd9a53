// What a part of a run takes of memory for a task besides the weights, by what it is for.
#pragma once

#include <cstddef>
#include <map>
#include <string>

namespace marginloom {

// `buffers` for the work of all threads, and of learners that know it in advance, `duals` for the dual variables: a
// state takes as much again, at most.
using NamedBytes = std::map<std::string, std::size_t>;

}  // namespace marginloom
