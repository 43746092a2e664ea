// Helpers for tests that compare hone with PyTorch. A golden is a folder under tests/goldens. It has a model and the
// results that PyTorch computed with it.
#pragma once

#include <gtest/gtest.h>

#include <fstream>

#include "base/core/whole_test.h"
#include "engine/passes/differentiate.h"
#include "engine/passes/pipelines.h"
#include "engine/session/session.h"
#include "learn/checkpoint/open_weights.h"
#include "learn/checkpoint/state_tensor.h"
#include "learn/harness/port_batch.h"
#include "learn/models/family.h"
#include "learn/models/goldens_test.h"
#include "learn/pretrained/open.h"
#include "learn/pretrained/weights.h"
#include "learn/tasks/tasks.h"
#include "learn/train/schedule.h"
#include "learn/train/update.h"

namespace hone {

inline Task task_named(const std::string& name) {
  for (const Task& t : all_task())
    if (t.name == name) return t;
  ADD_FAILURE() << "no task " << name;
  return {};
}
inline BatchShape tokens_shape(int64_t tokens, int64_t sequences) {
  return {{{kTokens, tokens}, {kSequences, sequences}}};
}

struct Golden {
  ModelConfig config;
  std::unique_ptr<WeightSource> weights, expected;
  nlohmann::json facts;
};

// Opens a golden. `name`: its folder, such as "models/gpt2_tiny".
inline Golden open_golden(const std::string& name) {
  Golden g;
  const std::string folder = std::string(HONE_SOURCE_DIR) + "/tests/goldens/" + name;
  g.config = read_model_config(load_config(folder).value()).value();
  std::vector<StackedTensor> stacked = stacked_tensors(g.config);
  auto weights = std::move(open_weights(folder + "/model.safetensors").value());
  set_layout(g.config, *weights);
  g.weights = join_stacked(std::move(weights), stacked);
  for (StackedTensor& t : stacked) t.name = "grad." + t.name;
  g.expected =
      join_stacked(std::move(open_weights(folder + "/golden.safetensors").value()), stacked);
  g.facts = nlohmann::json::parse(std::ifstream(folder + "/golden.json"));
  return g;
}

inline std::vector<float> tensor(const WeightSource& w, const std::string& name) {
  std::vector<float> v(static_cast<size_t>(w.find(name)->type.count()));
  Status s = w.read(name, DType::f32, std::as_writable_bytes(std::span(v)));
  EXPECT_TRUE(s.ok());
  return v;
}

// Whether the backend rounds the operands of attention's matrix products under autocast, as PyTorch does. The backends
// of CUDA and XLA do; the other backends do not.
inline bool rounds_attention(const Backend& backend) {
  return backend.spec().kernels == "cuda" || backend.spec().kernels == "xla_cpu";
}

// The largest difference between elements of two tensors, divided by the largest magnitude in `want` or, if that is
// smaller than `most`, by `most`.
inline double departure(std::span<const float> got, std::span<const float> want,
                        double most = 1e-4) {
  double apart = 0;
  for (size_t i = 0; i < want.size(); ++i) {
    most = std::max(most, std::abs(static_cast<double>(want[i])));
    apart = std::max(apart, std::abs(static_cast<double>(got[i]) - static_cast<double>(want[i])));
  }
  return apart / most;
}

// Whether the exact gradient of this bias is 0, so that a computed gradient is only rounding noise. A bias of attention
// keys, or of keys by position, adds the same number to all scores of a query, and softmax ignores such a number. In
// the golden resnet_early, the batch norms of the first block subtract the bias of the stem's norm again. In other
// ResNets this bias has a gradient; true is returned for it all the same.
inline bool moves_all_scores(const std::string& name, Head head) {
  // The bias of a choice moves the scores of all choices of a row.
  if (head == Head::multiple_choice && name == "classifier.bias") return true;
  for (const char* ending :
       {"attention.self.key.bias", "attention.key.bias", "attention.k_lin.bias",
        "attention.attn.k.bias", "attention.self.pos_key_proj.bias", "k_proj.bias",
        "embedder.normalization.bias"})
    if (name.ends_with(ending)) return true;
  return false;
}

// Expects that each gradient of the session differs from the golden's by less than 1e-4 of the largest magnitude in the
// golden's gradient. For the biases of moves_all_scores() the limit is 1e-4 of the largest magnitude in the gradient of
// the weight of the same layer.
inline void expect_gradients(Session& s, const Golden& g) {
  for (const ParamSpec& p : family_of(g.config).params(g.config)) {
    if (!p.is_trained()) continue;
    const std::vector<float> got = s.state_values<float>(grad_name(p.name));
    std::vector<float> want = tensor(*g.expected, "grad." + p.name);
    double most = 1e-4;
    if (moves_all_scores(p.name, g.config.head))
      for (float x : tensor(*g.expected, "grad." + p.name.substr(0, p.name.size() - 4) + "weight"))
        most = std::max(most, std::abs(static_cast<double>(x)));
    EXPECT_LT(departure(got, want, most), 1e-4) << p.name;
  }
}

// Adds the update program to `programs`, compiles all of them, and fills the weights and constant tables.
inline Session make_session(const Golden& g, std::vector<Program> programs, const Backend& backend,
                            const UpdateOptions& update,
                            const std::set<std::string>& in_bf16 = {}) {
  std::vector<UpdateWeight> weights;
  for (const ParamSpec& p : family_of(g.config).params(g.config))
    if (p.is_trained())
      weights.push_back(
          {p.name, {in_bf16.contains(p.name) ? DType::bf16 : DType::f32, p.shape}, p.decay});
  programs.push_back(build_update(weights, update));
  EXPECT_TRUE(run_passes(programs.back(), forward_pipeline(), {}).ok());
  Result<Session> session = Session::compile(std::move(programs), backend);
  EXPECT_TRUE(session.ok()) << session.error().text();
  Session s = std::move(*session);
  EXPECT_TRUE(s.allocate().ok());
  for (const StateSlot& slot : s.plan().states)
    if (slot.role == Role::param) {
      EXPECT_TRUE(load_state(s, slot.name, *g.weights, slot.name).ok()) << slot.name;
    }
  for (const ConstantTable& t : family_of(g.config).constants(g.config))
    s.write_state(t.name, std::as_bytes(std::span(t.values)));
  return s;
}

// The settings of a golden's training, from its JSON.
inline TrainSettings train_settings(const nlohmann::json& o) {
  TrainSettings settings;
  settings.adam_beta1 = o["adam_beta1"];
  settings.adam_beta2 = o["adam_beta2"];
  settings.adam_epsilon = o["adam_epsilon"];
  settings.weight_decay = o["weight_decay"];
  settings.max_grad_norm = o["max_grad_norm"];
  return settings;
}

// Computes the gradients of one micro-batch and returns its part of the loss. `first`: it is the first micro-batch of
// the step.
using MicroStep = std::function<double(size_t step, bool first, const std::vector<size_t>& rows)>;
// Trains as the golden's run did, and expects the losses and gradient norms of that run. `bound`: the largest relative
// difference of a loss. The largest difference of a norm is `norm_bounds` times `bound`; norm_bounds 0: 10, or 24 under
// autocast (`bound` above 1e-4). Norms may differ more than losses because with values in 16 bits hone rounds the
// gradient of the residual stream at each sum, and PyTorch does not. If the golden has the spread of several runs of
// PyTorch, a difference of twice this spread is allowed too.
inline void expect_losses(Session& s, const nlohmann::json& train, const MicroStep& gradients,
                          double bound = 1e-4, double norm_bounds = 0) {
  if (norm_bounds == 0) norm_bounds = bound > 1e-4 ? 24 : 10;
  const nlohmann::json& o = train["settings"];
  size_t update = s.program_index("update");
  Schedule schedule = Schedule::make({o["lr_scheduler_type"], o["learning_rate"], o["warmup_steps"],
                                      o["max_steps"]})
                          .value();
  for (size_t step = 0; step < train["losses"].size(); ++step) {
    auto micro = train["micro"][step].get<std::vector<std::vector<size_t>>>();
    double loss = 0;
    for (size_t k = 0; k < micro.size(); ++k) loss += gradients(step, k == 0, micro[k]);
    s.input<double>(update, "lr")[0] = schedule.rate(static_cast<int64_t>(step));
    s.input<int64_t>(update, "step")[0] = static_cast<int64_t>(step) + 1;
    s.run(update);
    const auto spread = [&](const char* list) {
      return train.contains(list) ? 2 * train[list][step].get<double>() : 0.0;
    };
    EXPECT_NEAR(loss, train["losses"][step].get<double>(),
                std::max(bound, spread("loss_spread")) * loss)
        << "step " << step;
    const double norm = train["grad_norms"][step].get<double>();
    EXPECT_NEAR(s.output<double>(update, "grad_norm")[0], norm,
                std::max(norm_bounds * bound, spread("norm_spread")) * std::max(1.0, norm))
        << "step " << step;
  }
}

// A run with --bf16 or --fp16, to compare with PyTorch's losses under autocast. Rounding changes an operand by up to
// 2^-9 (bf16) or 2^-12 (f16) of its value; `bound`, for expect_losses(), is twice that.
struct Autocast {
  std::string key;  // key of the golden's results: "bf16" or "fp16"
  TrainPasses how;
  double bound = 0;
};
inline std::vector<Autocast> autocasts(const std::string& backend) {
  const TrainPasses bf16{.precision = Precision::bf16, .stored = DType::bf16};
  TrainPasses narrow = bf16;
  narrow.gradients = DType::bf16;
  const TrainPasses narrow16{
      .precision = Precision::f16, .stored = DType::f16, .gradients = DType::f16};
  // As on a device with memory of its own.
  TrainPasses values = narrow, values16 = narrow16;
  values.keeps_narrow = values16.keeps_narrow = values.fuses_slopes = true;
  std::vector<Autocast> all{{"bf16", values, 0x1p-8}, {"fp16", values16, 0x1p-11}};
  if (backend == "cuda_emulated" && !tests_whole()) return all;  // a real GPU runs only these two
  all.insert(all.end(),
             {{"bf16", bf16, 0x1p-8}, {"bf16", narrow, 0x1p-8}, {"fp16", narrow16, 0x1p-11}});
  return all;
}
// The results of a golden under autocast: a copy of `train`, the results in f32, in which losses, norms and spreads are
// replaced by those that tools/golden_autocast.py wrote. `key`: "bf16" or "fp16".
inline nlohmann::json autocast_golden(const std::string& model, const std::string& key,
                                      nlohmann::json train) {
  const auto all = nlohmann::json::parse(
      std::ifstream(std::string(HONE_SOURCE_DIR) + "/tests/goldens/learn_train/autocast.json"));
  for (const auto& [list, values] : all[model][key].items()) train[list] = values;
  return train;
}

}  // namespace hone
