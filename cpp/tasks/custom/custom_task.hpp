// A task whose features, loss and inference are a user's methods in Python.
#pragma once

#include <memory>
#include <vector>

#include "bindings/bindings.hpp"
#include "core/task.hpp"

namespace marginloom::python {

// Calls go to an oracle, an object of marginloom/tasks/oracle.py that calls the user's methods and checks what they
// return:
//   gold_features(i)             -> (indices, values)                      phi of the right output
//   search(i, w, loss_scale, k)  -> [(output, loss, indices, values)]      outputs that differ from gold
//   rebuild(i, output)           -> (loss, indices, values)
//   predict(i, w, k)             -> [(output, score)]                      best first
// An output is bytes; indices are int64 in [0, dimension), values as many float64; values of a repeated index add up.
//
// The GIL is held for the calls into Python and not while a sink takes the candidates: a sink may wait for a lock
// whose holder waits for the GIL. A Python exception travels as nb::python_error, which may be copied and destroyed
// without the GIL.
class CustomTask final : public Task {
 public:
  struct Options {
    bool gold = true;
    bool exact = true;
    bool k_best = false;
  };

  // One coordinate of a feature vector.
  struct Term {
    WeightIndex index;
    double value;
  };
  using Vector = std::vector<Term>;  // sorted by index, each once

  CustomTask(nb::object oracle, std::size_t size, std::size_t dimension, Options options);
  CustomTask(const CustomTask&) = delete;
  CustomTask& operator=(const CustomTask&) = delete;

  std::size_t size() const override { return size_; }
  std::size_t dimension() const override { return dimension_; }
  Capabilities capabilities() const override;
  std::unique_ptr<Scratch> make_scratch() const override;
  void predict(std::size_t i, WeightView w, int k, Scratch& scratch, std::vector<Output>& outputs) const override;
  double find(std::size_t i, WeightView w, const FindOptions& options, Scratch& scratch,
              CandidateSink& sink) const override;
  bool candidate(std::size_t i, ByteView output, Scratch& scratch, CandidateSink& sink) const override;

  // phi of the right output, computed once. Call with the GIL held.
  [[nodiscard]] const Vector& gold_features(std::size_t i) const;

  // For Python's garbage collector: the user's task owns this one and is referred to by the oracle.
  [[nodiscard]] nb::handle oracle() const { return oracle_; }
  void release_oracle() { oracle_.reset(); }

 private:
  struct Buffers;
  struct Found;

  [[nodiscard]] nb::object call(const char* method, const nb::tuple& arguments) const;
  void read_vector(nb::handle indices, nb::handle values, Vector& vector) const;
  [[nodiscard]] Found build(std::size_t i, ByteView output, double loss, nb::handle indices, nb::handle values,
                            Buffers& buffers) const;
  [[nodiscard]] double search(std::size_t i, WeightView w, const FindOptions& options, Buffers& buffers) const;

  nb::object oracle_;
  std::size_t size_;
  std::size_t dimension_;
  Options options_;
  mutable std::vector<std::unique_ptr<const Vector>> gold_;  // guarded by the GIL; never replaced once it is there
};

}  // namespace marginloom::python
