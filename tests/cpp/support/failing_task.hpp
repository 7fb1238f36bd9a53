// A task whose search throws once, or does something else once, in whichever thread makes that call.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <stdexcept>
#include <utility>

#include "core/task.hpp"

class FailingTask final : public marginloom::Task {
 public:
  explicit FailingTask(std::shared_ptr<const marginloom::Task> task) : task_(std::move(task)) {}

  // Calls are counted from now, from 0.
  void fail_at(int call) {
    do_at(call, [] { throw std::runtime_error("search failed"); });
  }
  void do_at(int call, std::function<void()> action) {
    action_ = std::move(action);
    left_ = call + 1;
  }

  std::size_t size() const override { return task_->size(); }
  std::size_t dimension() const override { return task_->dimension(); }
  marginloom::Capabilities capabilities() const override { return task_->capabilities(); }
  const marginloom::ImplicitDifferences* implicit() const override { return task_->implicit(); }
  std::unique_ptr<marginloom::Scratch> make_scratch() const override { return task_->make_scratch(); }
  void predict(std::size_t i, marginloom::WeightView w, int k, marginloom::Scratch& scratch,
               std::vector<marginloom::Output>& outputs) const override {
    task_->predict(i, w, k, scratch, outputs);
  }
  double find(std::size_t i, marginloom::WeightView w, const marginloom::FindOptions& options,
              marginloom::Scratch& scratch, marginloom::CandidateSink& sink) const override {
    if (--left_ == 0) action_();
    return task_->find(i, w, options, scratch, sink);
  }
  bool candidate(std::size_t i, marginloom::ByteView output, marginloom::Scratch& scratch,
                 marginloom::CandidateSink& sink) const override {
    return task_->candidate(i, output, scratch, sink);
  }

 private:
  std::shared_ptr<const marginloom::Task> task_;
  std::function<void()> action_;
  mutable std::atomic<int> left_{0};
};
