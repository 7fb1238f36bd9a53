// Learners: a task, a number for every example, and parameters.
#include <nanobind/stl/shared_ptr.h>

#include <type_traits>
#include <utility>

#include "bindings/bindings.hpp"
#include "bindings/structs.hpp"
#include "core/example_numbers.hpp"
#include "learners/cutting_plane.hpp"
#include "learners/dcd.hpp"
#include "learners/frank_wolfe.hpp"
#include "learners/fsmo.hpp"
#include "learners/mira.hpp"
#include "learners/newton.hpp"
#include "learners/one_slack.hpp"
#include "learners/passive_aggressive.hpp"
#include "learners/perceptron.hpp"
#include "learners/sgd.hpp"

namespace marginloom::python {
namespace {

// `numbers` are the C_i of the rows, what users see as examples, or their weights where C is a parameter or there is
// none. Learners with a dual keep them by row.
template <class Learner, class Kind, class Parameters = typename Learner::Parameters>
nb::class_<Learner, Kind> bind_learner(nb::module_& module, const char* name, const char* numbers) {
  nb::class_<Learner, Kind> bound(module, name);
  bound.def(
      "__init__",
      [](Learner* self, std::shared_ptr<Task> task, const InputArray<double>& given, const Parameters& parameters) {
        ExampleNumbers numbers(checked_numbers(given), task->examples_per_row());
        if constexpr (std::is_constructible_v<Learner, std::shared_ptr<Task>, ExampleNumbers, Parameters>) {
          new (self) Learner(std::move(task), std::move(numbers), parameters);
        } else {
          new (self) Learner(std::move(task), std::move(numbers).expanded(), parameters);
        }
      },
      nb::arg("task"), nb::arg(numbers), nb::arg("parameters"));
  return bound;
}

void bind_online_parameters(nb::module_& module) {
  bind_options(module, "PerceptronParameters", Field{"averaged", &Perceptron::Parameters::averaged});
  bind_options(module, "HildrethOptions", Field{"tolerance", &HildrethOptions::tolerance},
               Field{"max_sweeps", &HildrethOptions::max_sweeps});
  using OfMira = Mira::Parameters;
  bind_options(module, "MiraParameters", Field{"k_best", &OfMira::k_best},
               Field{"loss_augmented", &OfMira::loss_augmented}, Field{"unbounded", &OfMira::unbounded},
               Field{"programme", &OfMira::programme}, Field{"averaged", &OfMira::averaged});
  using OfPassiveAggressive = PassiveAggressive::Parameters;
  bind_options(module, "PassiveAggressiveParameters", Field{"variant", &OfPassiveAggressive::variant},
               Field{"loss_augmented", &OfPassiveAggressive::loss_augmented},
               Field{"averaged", &OfPassiveAggressive::averaged});
  bind_options(module, "SgdParameters", Field{"C", &Sgd::Parameters::C}, Field{"eta_0", &Sgd::Parameters::eta_0},
               Field{"averaged", &Sgd::Parameters::averaged});
}

void bind_dual_parameters(nb::module_& module) {
  using OfDcd = Dcd::Parameters;
  bind_options(module, "DcdParameters", Field{"loss", &OfDcd::loss}, Field{"delta", &OfDcd::delta},
               Field{"k_best", &OfDcd::k_best}, Field{"inner_passes", &OfDcd::inner_passes},
               Field{"sweeps", &OfDcd::sweeps}, Field{"shrinking", &OfDcd::shrinking}, Field{"rest", &OfDcd::rest},
               Field{"averaged", &OfDcd::averaged}, Field{"memory", &OfDcd::memory});
  using OfCuttingPlane = CuttingPlane::Parameters;
  bind_options(module, "CuttingPlaneParameters", Field{"loss", &OfCuttingPlane::loss},
               Field{"epsilon", &OfCuttingPlane::epsilon}, Field{"batch", &OfCuttingPlane::batch},
               Field{"memory", &OfCuttingPlane::memory});
  using OfOneSlack = OneSlack::Parameters;
  bind_options(module, "OneSlackParameters", Field{"cache", &OfOneSlack::cache},
               Field{"inactive", &OfOneSlack::inactive}, Field{"memory", &OfOneSlack::memory});
  using OfFrankWolfe = FrankWolfe::Parameters;
  bind_options(module, "FrankWolfeParameters", Field{"inner_passes", &OfFrankWolfe::inner_passes},
               Field{"averaged", &OfFrankWolfe::averaged}, Field{"memory", &OfFrankWolfe::memory});
  using OfFsmo = Fsmo::Parameters;
  bind_options(module, "FsmoParameters", Field{"epsilon", &OfFsmo::epsilon}, Field{"k_best", &OfFsmo::k_best},
               Field{"batch", &OfFsmo::batch}, Field{"all_after_batch", &OfFsmo::all_after_batch},
               Field{"as_published", &OfFsmo::as_published}, Field{"inner_stop", &OfFsmo::inner_stop},
               Field{"inner_iterations", &OfFsmo::inner_iterations}, Field{"inner_change", &OfFsmo::inner_change},
               Field{"inner_times", &OfFsmo::inner_times}, Field{"inner_share", &OfFsmo::inner_share},
               Field{"memory", &OfFsmo::memory});
  using OfNewton = Newton::Parameters;
  bind_options(module, "NewtonParameters", Field{"loss", &OfNewton::loss}, Field{"delta", &OfNewton::delta},
               Field{"memory", &OfNewton::memory});
}

}  // namespace

void bind_learners(nb::module_& module) {
  nb::enum_<Loss>(module, "Loss").value("hinge", Loss::hinge).value("squared_hinge", Loss::squared_hinge);
  using Variant = PassiveAggressive::Variant;
  nb::enum_<Variant>(module, "PassiveAggressiveVariant")
      .value("pa", Variant::pa)
      .value("pa_i", Variant::pa_i)
      .value("pa_ii", Variant::pa_ii);
  bind_online_parameters(module);
  bind_dual_parameters(module);

  nb::class_<OnlineLearner>(module, "OnlineLearner");
  bind_learner<Perceptron, OnlineLearner>(module, "Perceptron", "instance_weights");
  bind_learner<Mira, OnlineLearner>(module, "Mira", "costs");
  bind_learner<PassiveAggressive, OnlineLearner>(module, "PassiveAggressive", "costs");
  bind_learner<Sgd, OnlineLearner>(module, "Sgd", "instance_weights").def_prop_ro("eta_0", &Sgd::eta_0);

  nb::class_<DualLearner>(module, "DualLearner").def_prop_ro("memory", [](const DualLearner& self) {
    return self.held().bytes;
  });
  nb::class_<BlockLearner, DualLearner>(module, "BlockLearner");
  bind_learner<Dcd, BlockLearner>(module, "Dcd", "costs");
  bind_learner<CuttingPlane, BlockLearner>(module, "CuttingPlane", "costs");
  bind_learner<OneSlack, BlockLearner>(module, "OneSlack", "costs");
  bind_learner<FrankWolfe, BlockLearner>(module, "FrankWolfe", "costs");
  bind_learner<Fsmo, BlockLearner>(module, "Fsmo", "costs");
  bind_learner<Newton, BlockLearner>(module, "Newton", "costs");
}

}  // namespace marginloom::python
