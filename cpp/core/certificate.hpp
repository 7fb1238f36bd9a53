// Proof of how far from the optimum a dual learner is.
#pragma once

namespace marginloom {

struct Certificate {
  double primal = 0;
  double dual = 0;
  bool proven = false;    // inference was exact, or came with an upper bound
  bool complete = false;  // false: stopped before every example was searched, so primal is no bound
};

}  // namespace marginloom
