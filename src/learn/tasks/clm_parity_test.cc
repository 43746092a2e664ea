// Loss and every gradient tensor of tiny models against Transformers (tests/goldens/models, made
// again by tools/golden_models.py).
#include <gtest/gtest.h>

#include <fstream>

#include "engine/backends/cpu/backend.h"
#include "engine/backends/reference/reference.h"
#include "engine/passes/differentiate.h"
#include "engine/passes/pipelines.h"
#include "engine/session/session.h"
#include "learn/checkpoint/weight_source.h"
#include "learn/tasks/clm_programs.h"
#include "learn/train/schedule.h"
#include "learn/train/update.h"

namespace hone {
namespace {

using nlohmann::json;
const std::string kGoldens = std::string(HONE_SOURCE_DIR) + "/tests/goldens/models/";

struct Golden {
  ModelConfig config;
  std::unique_ptr<WeightSource> weights, expected;
  json facts;
};

Golden open_golden(const std::string& name) {
  Golden g;
  const std::string folder = kGoldens + name;
  g.config = read_model_config(load_config(folder).value()).value();
  g.weights = std::move(open_weights(folder + "/model.safetensors").value());
  g.expected = std::move(open_weights(folder + "/golden.safetensors").value());
  g.facts = json::parse(std::ifstream(folder + "/golden.json"));
  return g;
}

std::vector<float> tensor(const WeightSource& w, const std::string& name) {
  std::vector<float> v(static_cast<size_t>(w.find(name)->type.count()));
  Status s = w.read(name, DType::f32, std::as_writable_bytes(std::span(v)));
  EXPECT_TRUE(s.ok());
  return v;
}

// Difference relative to the larger tensor's largest magnitude.
double departure(std::span<const float> got, std::span<const float> want) {
  double most = 1e-4, apart = 0;
  for (size_t i = 0; i < want.size(); ++i) {
    most = std::max(most, std::abs(static_cast<double>(want[i])));
    apart = std::max(apart, std::abs(static_cast<double>(got[i]) - static_cast<double>(want[i])));
  }
  return apart / most;
}

Session make_session(const Golden& g, const Backend& backend, ThreadPool& pool,
                     const BatchShape& shape, const UpdateOptions& update,
                     double label_smoothing = 0, Precision precision = Precision::f32) {
  std::vector<Program> programs;
  for (bool accumulate : {false, true}) {
    programs.push_back(
        build_clm_train(g.config, shape, accumulate ? "grad_add" : "grad_first", label_smoothing));
    EXPECT_TRUE(run_passes(programs.back(), train_pipeline(accumulate, precision), {}).ok());
  }
  std::vector<UpdateWeight> weights;
  for (const ParamSpec& p : family_of(g.config).params(g.config))
    weights.push_back({p.name, {DType::f32, p.shape}, p.decay});
  programs.push_back(build_update(weights, update));
  EXPECT_TRUE(run_passes(programs.back(), forward_pipeline(), {}).ok());
  Result<Session> session = Session::compile(std::move(programs), backend, pool);
  EXPECT_TRUE(session.ok()) << session.error().text();
  Session s = std::move(*session);
  EXPECT_TRUE(s.allocate().ok());
  for (const StateSlot& slot : s.plan().states)
    if (slot.role == Role::param) {
      EXPECT_TRUE(g.weights->read(slot.name, DType::f32, s.state(slot.name)).ok()) << slot.name;
    }
  if (family_of(g.config).constants)
    for (const ConstantTable& t : family_of(g.config).constants(g.config))
      std::memcpy(s.state(t.name).data(), t.values.data(), t.values.size() * sizeof(float));
  return s;
}

// Packs the rows into the program's inputs and runs it.
float run_rows(Session& s, const std::string& program, const BatchShape& shape,
               const std::vector<std::vector<int32_t>>& rows, double scale) {
  size_t k = s.program_index(program);
  std::vector<int32_t> ids, labels, positions, cu{0};
  std::vector<int64_t> samples;
  for (size_t r = 0; r < rows.size(); ++r) {
    for (size_t i = 0; i < rows[r].size(); ++i) {
      ids.push_back(rows[r][i]);
      labels.push_back(i + 1 < rows[r].size() ? rows[r][i + 1] : -100);
      positions.push_back(static_cast<int32_t>(i));
      samples.push_back(static_cast<int64_t>(r));
    }
    cu.push_back(static_cast<int32_t>(ids.size()));
  }
  const auto T = static_cast<size_t>(shape.tokens);
  ids.resize(T, 0);
  labels.resize(T, -100);
  positions.resize(T, 0);
  samples.resize(T, -1);
  cu.resize(static_cast<size_t>(shape.slots) + 1, static_cast<int32_t>(T));
  auto put = [&](const char* name, const auto& v) {
    std::memcpy(s.input_bytes(k, name).data(), v.data(), v.size() * sizeof(v[0]));
  };
  put("ids", ids);
  put("labels", labels);
  put("positions", positions);
  put("cu_seqlens", cu);
  put("sample_ids", samples);
  put("rng", std::vector<int64_t>{1, 1});
  put("scale", std::vector<float>{static_cast<float>(scale)});
  s.run(k);
  return s.output<float>(k, "loss")[0];
}

// Each gradient's sum and sum of magnitudes, within `share` of the latter.
void expect_gradient_sums(Session& s, const json& want, double share) {
  for (const auto& [name, sums] : want.items()) {
    auto bytes = s.state(grad_name(name));
    double sum = 0, magnitude = 0;
    for (size_t i = 0; i < bytes.size() / sizeof(float); ++i) {
      const double x = reinterpret_cast<const float*>(bytes.data())[i];
      sum += x;
      magnitude += std::abs(x);
    }
    const double largest = sums[1].get<double>();
    EXPECT_NEAR(sum, sums[0].get<double>(), share * largest + 1e-6) << name;
    EXPECT_NEAR(magnitude, largest, share * largest + 1e-6) << name;
  }
}

class ClmParity : public testing::TestWithParam<std::tuple<std::string, std::string>> {
 protected:
  ThreadPool pool{2};
  const Backend& backend() {
    if (std::get<1>(GetParam()) == "reference") return reference_backend();
    if (!cpu_) cpu_ = make_cpu_backend(pool.size());
    return *cpu_;
  }

 private:
  std::unique_ptr<Backend> cpu_;
};

TEST_P(ClmParity, LossAndEveryGradient) {
  Golden g = open_golden(std::get<0>(GetParam()));
  auto rows = g.facts["sequences"].get<std::vector<std::vector<int32_t>>>();
  BatchShape shape{64, 4};
  Session s = make_session(g, backend(), pool, shape, {});
  double labels = g.facts["label_tokens"];
  float loss = run_rows(s, "grad_first", shape, rows, 1 / labels);
  EXPECT_NEAR(loss, g.facts["loss"].get<double>(), 1e-4);
  for (const ParamSpec& p : family_of(g.config).params(g.config)) {
    auto got = s.state(grad_name(p.name));
    std::vector<float> want = tensor(*g.expected, "grad." + p.name);
    EXPECT_LT(departure({reinterpret_cast<const float*>(got.data()), want.size()}, want), 1e-4)
        << p.name;
  }
}

TEST_P(ClmParity, LabelSmoothing) {
  if (std::get<0>(GetParam()) != "gpt2_tiny") GTEST_SKIP() << "the golden is of gpt2_tiny";
  Golden g = open_golden("gpt2_tiny");
  const json want = json::parse(std::ifstream(std::string(HONE_SOURCE_DIR) +
                                              "/tests/goldens/learn_train/label_smoothing.json"));
  auto rows = g.facts["sequences"].get<std::vector<std::vector<int32_t>>>();
  BatchShape shape{64, 4};
  Session s = make_session(g, backend(), pool, shape, {}, want["factor"]);
  double labels = g.facts["label_tokens"];
  EXPECT_NEAR(run_rows(s, "grad_first", shape, rows, 1 / labels), want["loss"].get<double>(), 1e-5);
  expect_gradient_sums(s, want["gradients"], 1e-4);
}

TEST_P(ClmParity, Bf16) {
  const std::string name = std::get<0>(GetParam());
  const json all = json::parse(
      std::ifstream(std::string(HONE_SOURCE_DIR) + "/tests/goldens/learn_train/bf16.json"));
  if (!all.contains(name)) GTEST_SKIP() << "no golden of " << name;
  const json& want = all[name];
  Golden g = open_golden(name);
  auto rows = g.facts["sequences"].get<std::vector<std::vector<int32_t>>>();
  BatchShape shape{64, 4};
  Session s = make_session(g, backend(), pool, shape, {}, 0, Precision::bf16);
  double labels = g.facts["label_tokens"];
  EXPECT_NEAR(run_rows(s, "grad_first", shape, rows, 1 / labels), want["loss"].get<double>(), 1e-4);
  // Operands that differ in their last bit may round to two neighbours: 2^-9 of some of them.
  expect_gradient_sums(s, want["gradients"], 2e-3);
}

TEST_P(ClmParity, TenLosses) {
  Golden g = open_golden(std::get<0>(GetParam()));
  const json& t = g.facts["train"];
  auto rows = t["rows"].get<std::vector<std::vector<int32_t>>>();
  BatchShape shape{64, 4};
  const json& o = t["settings"];
  TrainSettings settings;
  settings.adam_beta1 = o["adam_beta1"];
  settings.adam_beta2 = o["adam_beta2"];
  settings.adam_epsilon = o["adam_epsilon"];
  settings.weight_decay = o["weight_decay"];
  settings.max_grad_norm = o["max_grad_norm"];
  Session s = make_session(g, backend(), pool, shape, update_options(settings).value());
  size_t update = s.program_index("update");
  Schedule schedule = Schedule::make({o["lr_scheduler_type"], o["learning_rate"], o["warmup_steps"],
                                      o["max_steps"]})
                          .value();
  for (size_t step = 0; step < t["losses"].size(); ++step) {
    auto micro = t["micro"][step].get<std::vector<std::vector<size_t>>>();
    double labels = 0;
    for (const auto& m : micro)
      for (size_t r : m) labels += static_cast<double>(rows[r].size() - 1);
    double loss = 0;
    for (size_t k = 0; k < micro.size(); ++k) {
      std::vector<std::vector<int32_t>> batch;
      for (size_t r : micro[k]) batch.push_back(rows[r]);
      loss += static_cast<double>(
          run_rows(s, k == 0 ? "grad_first" : "grad_add", shape, batch, 1 / labels));
    }
    s.input<double>(update, "lr")[0] = schedule.rate(static_cast<int64_t>(step));
    s.input<int64_t>(update, "step")[0] = static_cast<int64_t>(step) + 1;
    s.run(update);
    EXPECT_NEAR(loss, t["losses"][step].get<double>(), 1e-4 * loss) << "step " << step;
    EXPECT_NEAR(s.output<double>(update, "grad_norm")[0], t["grad_norms"][step].get<double>(), 1e-3)
        << "step " << step;
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, ClmParity,
    testing::Combine(testing::Values("gpt2_tiny", "llama_tied_tiny", "llama_untied_tiny",
                                     "qwen2_tiny", "mistral_tiny", "llama3_rope_tiny"),
                     testing::Values("reference", "cpu")),
    [](const auto& info) { return std::get<0>(info.param) + "_" + std::get<1>(info.param); });

}  // namespace
}  // namespace hone
