#include "learners/dcd.hpp"

#include "learners/registered_learner.hpp"

namespace marginloom {

namespace {

const LearnerRegistration<Dcd> registered_dcd(
    "dcd", RowNumbers::costs,
    {parameter("loss", &Dcd::Parameters::loss, loss_words), parameter("delta", &Dcd::Parameters::delta),
     parameter("k_best", &Dcd::Parameters::k_best), parameter("inner_passes", &Dcd::Parameters::inner_passes),
     parameter("sweeps", &Dcd::Parameters::sweeps), parameter("shrinking", &Dcd::Parameters::shrinking),
     parameter("rest", &Dcd::Parameters::rest), parameter("averaged", &Dcd::Parameters::averaged),
     parameter("memory", &Dcd::Parameters::memory)});

}  // namespace

}  // namespace marginloom
