// Models with random weights for tests, and their logits.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>

#include "base/core/philox.h"
#include "engine/backends/reference/reference.h"
#include "learn/pretrained/pretrained.h"
#include "learn/pretrained/weights.h"

namespace hone {

// Random weights for all parameters of a config, under the names of its family.
class RandomWeights final : public WeightSource {
 public:
  explicit RandomWeights(const ModelConfig& c) {
    for (const ParamSpec& spec : family_of(c).params(c)) {
      TensorInfo info;
      info.name = spec.name;
      info.type = {DType::f32, spec.shape};
      info.file = "random";
      add(std::move(info));
      // Weights that start as ones scale whole layers, so their random values are around 1.
      means_.push_back(spec.init == ParamSpec::Init::ones ? 1 : 0);
    }
  }

 protected:
  Status read_tensor(size_t index, DType as, std::span<std::byte> out) const override {
    EXPECT_EQ(as, DType::f32);
    PhiloxStream random(dropout_key(7, 0, scope_hash(tensors_[index].name)), 0);
    auto* values = reinterpret_cast<float*>(out.data());
    for (size_t i = 0; i < out.size() / sizeof(float); ++i)
      values[i] = static_cast<float>(means_[index] + 0.2 * random.next_normal());
    return Ok{};
  }

 private:
  std::vector<double> means_;
};

// The logits [13,V] of two packed texts of 9 and 4 fixed tokens, computed by the reference backend.
inline std::vector<float> logits_of_texts(const Pretrained& model) {
  Program p(op_table(), "eval");
  Builder b(p);
  ModelGraph g(b, model.config, ModelGraph::Mode::eval);
  g.ids = p.add_input("ids", {DType::i32, {13}});
  g.positions = p.add_input("positions", {DType::i32, {13}});
  g.cu_seqlens = p.add_input("cu_seqlens", {DType::i32, {3}});
  add_model_states(g, false);
  p.outputs.push_back({"logits", logits_of(b, model_head(g))});
  std::vector<Program> programs;
  programs.push_back(std::move(p));
  Session s = std::move(Session::compile(std::move(programs), reference_backend()).value());
  EXPECT_TRUE(s.allocate().ok());
  const Status loaded = load_weights(s, model);
  EXPECT_TRUE(loaded.ok()) << loaded.error().text();
  const std::vector<int32_t> ids{3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 7};
  const std::vector<int32_t> positions{0, 1, 2, 3, 4, 5, 6, 7, 8, 0, 1, 2, 3}, ends{0, 9, 13};
  std::ranges::copy(ids, s.input<int32_t>(0, "ids").begin());
  std::ranges::copy(positions, s.input<int32_t>(0, "positions").begin());
  std::ranges::copy(ends, s.input<int32_t>(0, "cu_seqlens").begin());
  s.run(0);
  const std::span<const float> logits = s.output<float>(0, "logits");
  return {logits.begin(), logits.end()};
}

// A model without files: the config and RandomWeights.
inline Pretrained random_model(const ModelConfig& config) {
  Pretrained model;
  model.config = config;
  model.weights = std::make_unique<RandomWeights>(config);
  return model;
}

}  // namespace hone
