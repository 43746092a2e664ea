// Loss and every gradient tensor of tiny models against Transformers (tests/goldens/models, made
// again by tools/golden_models.py).
#include <cmath>

#include "engine/backends/backends.h"
#include "engine/backends/tested_backends_test.h"
#include "learn/tasks/parity.h"

namespace hone {
namespace {

using nlohmann::json;

Session make_session(const Golden& g, const Backend& backend, const BatchShape& shape,
                     const UpdateOptions& update, double label_smoothing = 0,
                     TrainPasses how = {}) {
  const Task task = task_named("clm");
  task.settings->label_smoothing_factor = label_smoothing;
  std::vector<Program> programs;
  for (bool accumulate : {false, true}) {
    programs.push_back(task.program(g.config, shape, accumulate ? "grad_add" : "grad_first", true));
    EXPECT_TRUE(run_passes(programs.back(), train_pipeline(accumulate, how), {}).ok());
  }
  UpdateOptions options = update;
  options.gradients = how.gradients;
  return make_session(g, std::move(programs), backend, options, how.in_bf16);
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
  const auto T = static_cast<size_t>(shape[kTokens]);
  ids.resize(T, 0);
  labels.resize(T, -100);
  positions.resize(T, 0);
  samples.resize(T, -1);
  cu.resize(static_cast<size_t>(shape[kSequences]) + 1, static_cast<int32_t>(T));
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

// The loss of each token of rows that are packed side by side.
std::vector<float> token_losses(Session& s, const BatchShape& shape,
                                const std::vector<std::vector<int32_t>>& rows) {
  const auto T = static_cast<size_t>(shape[kTokens]);
  std::vector<int32_t> ids, labels, positions, cu{0};
  for (const std::vector<int32_t>& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) {
      ids.push_back(row[i]);
      labels.push_back(i + 1 < row.size() ? row[i + 1] : -100);
      positions.push_back(static_cast<int32_t>(i));
    }
    cu.push_back(static_cast<int32_t>(ids.size()));
  }
  const size_t used = ids.size();
  ids.resize(T, 0);
  labels.resize(T, -100);
  positions.resize(T, 0);
  cu.resize(static_cast<size_t>(shape[kSequences]) + 1, static_cast<int32_t>(used));
  for (const auto& [name, v] : {std::pair{"ids", &ids},
                                {"labels", &labels},
                                {"positions", &positions},
                                {"cu_seqlens", &cu}})
    std::memcpy(s.input_bytes(0, name).data(), v->data(), v->size() * sizeof(int32_t));
  s.run(0);
  const auto nll = s.output<float>(0, "nll");
  return {nll.begin(), nll.begin() + static_cast<std::ptrdiff_t>(used)};
}

// Each gradient's sum and sum of magnitudes, within `share` of the latter. rounds_attention: or within twice what rounding
// of attention's operands moves them in PyTorch, which the golden has as a third number.
void expect_gradient_sums(Session& s, const json& want, double share,
                          bool rounds_attention = false) {
  for (const auto& [name, sums] : want.items()) {
    double sum = 0, magnitude = 0;
    for (const double x : s.state_values<float>(grad_name(name))) {
      sum += x;
      magnitude += std::abs(x);
    }
    const double largest = sums[1].get<double>();
    const double moved = rounds_attention ? 2 * sums[2].get<double>() : 0;
    const double apart = std::max(share * largest + 1e-6, moved);
    EXPECT_NEAR(sum, sums[0].get<double>(), apart) << name;
    EXPECT_NEAR(magnitude, largest, apart) << name;
  }
}

class ClmParity : public testing::TestWithParam<std::tuple<std::string, std::string>> {
 protected:
  const Backend& backend() const { return *backend_; }

 private:
  const std::unique_ptr<Backend> backend_ =
      open_backend(std::get<1>(GetParam()), {.threads = 2}).value();
};

TEST_P(ClmParity, LossAndEveryGradient) {
  Golden g = open_golden("models/" + std::get<0>(GetParam()));
  auto rows = g.facts["sequences"].get<std::vector<std::vector<int32_t>>>();
  const BatchShape shape = tokens_shape(64, 4);
  Session s = make_session(g, backend(), shape, {});
  double labels = g.facts["label_tokens"];
  float loss = run_rows(s, "grad_first", shape, rows, 1 / labels);
  EXPECT_NEAR(loss, g.facts["loss"].get<double>(), 1e-4);
  expect_gradients(s, g);
}

TEST_P(ClmParity, PackedRowsEqualTheSameRowsAlone) {
  const std::string on = std::get<1>(GetParam());
  if (on != "cpu" && on != "far") GTEST_SKIP() << "sums of others follow the place of a row";
  Golden g = open_golden("models/" + std::get<0>(GetParam()));
  const auto rows = g.facts["sequences"].get<std::vector<std::vector<int32_t>>>();
  const BatchShape shape = tokens_shape(64, 4);
  std::vector<Program> programs;
  programs.push_back(task_named("clm").program(g.config, shape, "eval", false));
  ASSERT_TRUE(run_passes(programs.back(), forward_pipeline(), {}).ok());
  Session s = make_session(g, std::move(programs), backend(), {});
  const std::vector<float> packed = token_losses(s, shape, rows);
  size_t at = 0;
  for (const std::vector<int32_t>& row : rows) {
    const std::vector<float> alone = token_losses(s, shape, {row});
    EXPECT_EQ(alone,
              std::vector<float>(packed.begin() + static_cast<std::ptrdiff_t>(at),
                                 packed.begin() + static_cast<std::ptrdiff_t>(at + row.size())));
    at += row.size();
  }
}

TEST_P(ClmParity, LabelSmoothing) {
  if (std::get<0>(GetParam()) != "gpt2_tiny") GTEST_SKIP() << "the golden is of gpt2_tiny";
  Golden g = open_golden("models/gpt2_tiny");
  const json want = json::parse(std::ifstream(std::string(HONE_SOURCE_DIR) +
                                              "/tests/goldens/learn_train/label_smoothing.json"));
  auto rows = g.facts["sequences"].get<std::vector<std::vector<int32_t>>>();
  const BatchShape shape = tokens_shape(64, 4);
  Session s = make_session(g, backend(), shape, {}, want["factor"]);
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
  Golden g = open_golden("models/" + name);
  auto rows = g.facts["sequences"].get<std::vector<std::vector<int32_t>>>();
  const BatchShape shape = tokens_shape(64, 4);
  Session s = make_session(g, backend(), shape, {}, 0, {Precision::bf16});
  double labels = g.facts["label_tokens"];
  // The golden's attention is in f32.
  const double loss = want["loss"].get<double>();
  EXPECT_NEAR(run_rows(s, "grad_first", shape, rows, 1 / labels), loss,
              rounds_attention(backend()) ? 1e-3 * loss : 1e-4);
  // Operands that differ in their last bit may round to two neighbours: 2^-9 of some of them.
  const bool rounds = rounds_attention(backend());
  expect_gradient_sums(s, want["gradients"], rounds ? 1.5e-2 : 2e-3, rounds);
}

// Activations that wait in two bytes: the loss and gradients of f32 but for their rounding, 2^-9 of
// a value in bf16 and 2^-12 in f16. The weights of these models are large, which multiplies it in
// each layer. A bias of keys has no gradient but rounding. Routers that are near a tie send tokens to other experts.
TEST_P(ClmParity, StoredActivations) {
  Golden g = open_golden("models/" + std::get<0>(GetParam()));
  auto rows = g.facts["sequences"].get<std::vector<std::vector<int32_t>>>();
  const BatchShape shape = tokens_shape(64, 4);
  const double labels = g.facts["label_tokens"];
  Session exact = make_session(g, backend(), shape, {});
  const float loss = run_rows(exact, "grad_first", shape, rows, 1 / labels);
  static const std::map<std::string, double> kNearTies{{"qwen3_next_tiny", 3},
                                                       {"gemma4_moe_tiny", 1.2}};
  const auto near = kNearTies.find(std::get<0>(GetParam()));
  const double layers =
      0.75 * static_cast<double>(g.config.layers) * (near == kNearTies.end() ? 1 : near->second);
  const bool odd = std::get<0>(GetParam()).size() % 2 == 1;
  for (const auto& [stored, of_layer] :
       {std::pair{DType::bf16, 1.0 / 16}, {DType::f16, 1.0 / 128}}) {
    if ((stored == DType::f16) != odd && !tests_whole()) continue;  // a sample has one type a model
    const double bound = of_layer * layers;
    Session s = make_session(g, backend(), shape, {}, 0, {.stored = stored});
    EXPECT_NEAR(run_rows(s, "grad_first", shape, rows, 1 / labels), loss, bound * 0.1);
    bool differs = false;
    for (const StateSlot& slot : s.plan().states) {
      if (slot.role != Role::grad || slot.name.ends_with("k_proj.bias")) continue;
      const std::vector<float> a = s.state_values<float>(slot.name),
                               b = exact.state_values<float>(slot.name);
      double error = 0, size = 0;
      for (size_t i = 0; i < a.size(); ++i) {
        error += std::pow(static_cast<double>(a[i] - b[i]), 2);
        size += std::pow(static_cast<double>(b[i]), 2);
      }
      EXPECT_LE(std::sqrt(error), bound * std::sqrt(size) + 1e-7) << slot.name;
      differs = differs || error > 0;
    }
    EXPECT_TRUE(differs);
  }
}

void expect_ten_losses(const Golden& g, const json& t, const Backend& backend,
                       const TrainPasses& how, double bound) {
  auto rows = t["rows"].get<std::vector<std::vector<int32_t>>>();
  const BatchShape shape = tokens_shape(64, 4);
  UpdateOptions update = update_options(train_settings(t["settings"])).value();
  update.stochastic_rounding = false;
  Session s = make_session(g, backend, shape, update, 0, how);
  const auto gradients = [&](size_t step, bool first, const std::vector<size_t>& micro) {
    double labels = 0;
    for (const json& m : t["micro"][step])
      for (size_t r : m) labels += static_cast<double>(rows[r].size() - 1);
    std::vector<std::vector<int32_t>> batch;
    for (size_t r : micro) batch.push_back(rows[r]);
    return static_cast<double>(
        run_rows(s, first ? "grad_first" : "grad_add", shape, batch, 1 / labels));
  };
  expect_losses(s, t, gradients, bound);
}

TEST_P(ClmParity, TenLosses) {
  Golden g = open_golden("models/" + std::get<0>(GetParam()));
  expect_ten_losses(g, g.facts["train"], backend(), {}, 1e-4);
}

// Transformers' loss of routers: golden_router_loss.py, whose batches are one micro-batch each.
TEST_P(ClmParity, LossOfRouters) {
  const std::string name = std::get<0>(GetParam());
  const json all = json::parse(
      std::ifstream(std::string(HONE_SOURCE_DIR) + "/tests/goldens/learn_train/router_loss.json"));
  if (!all.contains(name)) GTEST_SKIP() << "no golden of " << name;
  const json& want = all[name];
  Golden g = open_golden("models/" + name);
  json config = g.config.config;
  config["output_router_logits"] = true;
  config["router_aux_loss_coef"] = want["coef"];
  g.config = read_model_config(config).value();
  const auto rows = g.facts["sequences"].get<std::vector<std::vector<int32_t>>>();
  const BatchShape shape = tokens_shape(64, 4);
  const double labels = g.facts["label_tokens"];
  {
    Session s = make_session(g, backend(), shape, {});
    const float first = run_rows(s, "grad_first", shape, {rows[0]}, 1 / labels);
    const float rest = run_rows(s, "grad_add", shape, {rows.begin() + 1, rows.end()}, 1 / labels);
    EXPECT_NEAR(first + rest, want["split_loss"].get<double>(), 1e-4);
    EXPECT_NEAR(run_rows(s, "grad_first", shape, rows, 1 / labels), want["loss"].get<double>(),
                1e-4);
    expect_gradient_sums(s, want["gradients"], 1e-4);
  }
  json t = g.facts["train"];
  for (const char* list : {"losses", "grad_norms"}) t[list] = want[list];
  for (json& micro : t["micro"]) {
    json together = json::array();
    for (const json& batch : micro) together.insert(together.end(), batch.begin(), batch.end());
    micro = json::array({together});
  }
  expect_ten_losses(g, t, backend(), {}, 1e-4);
}

TEST_P(ClmParity, TenLossesUnderAutocast) {
  const std::string name = "models/" + std::get<0>(GetParam());
  const json golden = json::parse(
      std::ifstream(std::string(HONE_SOURCE_DIR) + "/tests/goldens/learn_train/autocast.json"));
  if (!golden.contains(name)) GTEST_SKIP() << "no golden of " << name;
  Golden g = open_golden(name);
  for (const Autocast& a : autocasts(std::get<1>(GetParam()))) {
    SCOPED_TRACE(a.key);
    if (golden[name].contains(a.key))
      expect_ten_losses(g, autocast_golden(name, a.key, g.facts["train"]), backend(), a.how,
                        a.bound);
  }
}

// Weights, gradients and moments in bf16 alone (tools/golden_pure_bf16.py). PyTorch rounds to bf16
// after each op, hone where a value is kept: losses are apart by the rounding of logits, 2^-7 of a
// loss.
TEST_P(ClmParity, TenLossesInPureBf16) {
  const std::string name = std::get<0>(GetParam());
  const json all = json::parse(
      std::ifstream(std::string(HONE_SOURCE_DIR) + "/tests/goldens/learn_train/pure_bf16.json"));
  if (!all.contains(name)) GTEST_SKIP() << "no golden of " << name;
  Golden g = open_golden("models/" + name);
  json t = g.facts["train"];
  for (const char* list : {"losses", "grad_norms"}) t[list] = all[name][list];
  TrainPasses how{.precision = Precision::bf16, .stored = DType::bf16, .gradients = DType::bf16};
  for (const ParamSpec& p : family_of(g.config).params(g.config)) how.in_bf16.insert(p.name);
  expect_ten_losses(g, t, backend(), how, 0x1p-7);
}

// Every model on the CPU; the oracle and the memory apart run a sample unless tests_whole().
std::vector<BackendCase> clm_cases() {
  const std::vector<std::string> all = goldens_with("models", "sequences");
  std::vector<BackendCase> cases = cases_on_backends(all, {"cpu"}, {"gpt2_tiny"});
  const std::vector<std::string> sample = {"gpt2_tiny",   "llama_tied_tiny", "qwen3_tiny",
                                           "gemma2_tiny", "glm4_tiny",       "bloom_tiny",
                                           "qwen3_5_tiny"};
  for (const std::string& name : tests_whole() ? all : sample)
    for (const char* backend : {"reference", "far"})
      if (named_backends().empty()) cases.emplace_back(name, backend);
  return cases;
}

INSTANTIATE_TEST_SUITE_P(All, ClmParity, testing::ValuesIn(clm_cases()),
                         [](const auto& info) { return name_of_case(info.param); });

}  // namespace
}  // namespace hone
