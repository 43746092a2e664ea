// Logits, loss, every gradient tensor and ten losses of tiny encoders with each head against
// Transformers (tests/goldens/encoders, made again by tools/golden_encoders.py).
#include "engine/backends/backends.h"
#include "engine/backends/tested_backends_test.h"
#include "learn/tasks/parity.h"

namespace hone {
namespace {

using nlohmann::json;

constexpr int64_t kPackedTokens = 64, kSlots = 4, kLabelRows = 48;

bool is_regression(const ModelConfig& c) {
  return c.head == Head::sequence_classification && c.labels == 1;
}

// The number of labels that a program takes: of chosen tokens, of tokens or of sequences.
int64_t label_slots(const ModelConfig& c) {
  return c.head == Head::masked_lm              ? kLabelRows
         : c.head == Head::token_classification ? kPackedTokens
                                                : kSlots;
}

struct PaddedBatch {
  std::vector<int32_t> ids, positions, types, cu{0}, label_rows, labels;
  std::vector<int64_t> samples;
  std::vector<float> targets, weights;  // of a regression
};

PaddedBatch pack(const ModelConfig& c, const json& rows, const json& types, const json& labels,
                 const std::vector<size_t>& chosen) {
  PaddedBatch b;
  for (size_t r : chosen) {
    for (size_t i = 0; i < rows[r].size(); ++i) {
      const int32_t label = labels[r].is_array() ? labels[r][i].get<int32_t>() : -100;
      if (c.head == Head::masked_lm && label >= 0) {
        b.label_rows.push_back(static_cast<int32_t>(b.ids.size()));
        b.labels.push_back(label);
      }
      if (c.head == Head::token_classification) b.labels.push_back(label);
      b.ids.push_back(rows[r][i]);
      b.types.push_back(types[r][i]);
      b.positions.push_back(static_cast<int32_t>(i));
      b.samples.push_back(static_cast<int64_t>(r));
    }
    b.cu.push_back(static_cast<int32_t>(b.ids.size()));
    if (is_regression(c)) {
      b.targets.push_back(labels[r]);
      b.weights.push_back(1);
    } else if (!labels[r].is_array()) {
      b.labels.push_back(labels[r]);
    }
  }
  const auto used = static_cast<int32_t>(b.ids.size());
  b.ids.resize(kPackedTokens, 0);
  b.positions.resize(kPackedTokens, 0);
  b.types.resize(kPackedTokens, 0);
  b.samples.resize(kPackedTokens, -1);
  b.cu.resize(kSlots + 1, used);
  b.label_rows.resize(kLabelRows, -1);
  b.labels.resize(static_cast<size_t>(label_slots(c)), -100);
  b.targets.resize(kSlots, 0);
  b.weights.resize(kSlots, 0);
  return b;
}

ModelGraph graph(Program& p, Builder& b, const ModelConfig& c, ModelGraph::Mode mode) {
  ModelGraph g(b, c, mode);
  const Type of_tokens{DType::i32, {kPackedTokens}};
  g.ids = p.add_input("ids", of_tokens);
  g.positions = p.add_input("positions", of_tokens);
  g.token_types = p.add_input("types", of_tokens);
  g.cu_seqlens = p.add_input("cu_seqlens", {DType::i32, {kSlots + 1}});
  return g;
}

Program build_train(const ModelConfig& c, const std::string& name) {
  Program p(op_table(), name);
  Builder b(p);
  ModelGraph g = graph(p, b, c, ModelGraph::Mode::train);
  g.sample_ids = p.add_input("sample_ids", {DType::i64, {kPackedTokens}});
  g.rng = p.add_input("rng", {DType::i64, {2}});
  if (c.head == Head::masked_lm)
    g.label_rows = p.add_input("label_rows", {DType::i32, {kLabelRows}});
  const ValueId scale = p.add_input("scale", {DType::f32, {}});
  add_model_states(g, true);
  const HeadLayer head = model_head(g);
  if (is_regression(c)) {
    const Type of_sequences{DType::f32, {kSlots}};
    const ValueId targets = p.add_input("targets", of_sequences),
                  weights = p.add_input("weights", of_sequences);
    ValueId apart = ops::sub(b, ops::reshape(b, logits_of(b, head), {kSlots}), targets);
    ValueId square = ops::mul(b, ops::mul(b, apart, apart), weights);
    p.outputs.push_back({"loss", ops::mul(b, ops::reduce_sum(b, square, {0}), scale)});
    return p;
  }
  const ValueId labels = p.add_input("labels", {DType::i32, {label_slots(c)}});
  p.outputs.push_back(
      {"loss",
       ops::linear_cross_entropy(b, head.x, head.weight, labels, scale, true, 0, head.bias).loss});
  return p;
}

Program build_logits(const ModelConfig& c) {
  Program p(op_table(), "logits");
  Builder b(p);
  ModelGraph g = graph(p, b, c, ModelGraph::Mode::eval);
  add_model_states(g, false);
  p.outputs.push_back({"logits", logits_of(b, model_head(g))});
  return p;
}

// The hidden states of a body alone.
Program build_hidden(const ModelConfig& c) {
  Program p(op_table(), "hidden");
  Builder b(p);
  ModelGraph g = graph(p, b, c, ModelGraph::Mode::eval);
  add_model_states(g, false);
  p.outputs.push_back({"hidden", family_of(c).body(g)});
  return p;
}

void put(Session& s, size_t program, const char* name, const auto& v) {
  if (!s.has_input(program, name)) return;
  ASSERT_EQ(s.input_bytes(program, name).size(), v.size() * sizeof(v[0])) << name;
  std::memcpy(s.input_bytes(program, name).data(), v.data(), v.size() * sizeof(v[0]));
}

size_t run(Session& s, const std::string& name, const PaddedBatch& b, double scale) {
  const size_t k = s.program_index(name);
  put(s, k, "ids", b.ids);
  put(s, k, "positions", b.positions);
  put(s, k, "types", b.types);
  put(s, k, "cu_seqlens", b.cu);
  put(s, k, "label_rows", b.label_rows);
  put(s, k, "labels", b.labels);
  put(s, k, "targets", b.targets);
  put(s, k, "weights", b.weights);
  put(s, k, "sample_ids", b.samples);
  put(s, k, "rng", std::vector<int64_t>{1, 1});
  put(s, k, "scale", std::vector<float>{static_cast<float>(scale)});
  s.run(k);
  return k;
}

double label_count(const json& labels, const std::vector<size_t>& rows) {
  double n = 0;
  for (size_t r : rows) {
    if (!labels[r].is_array()) n += 1;
    if (labels[r].is_array())
      for (const json& label : labels[r]) n += label != -100;
  }
  return n;
}

class EncoderParity : public testing::TestWithParam<std::tuple<std::string, std::string>> {
 protected:
  // The programs of the gradients and the logits, or those of the logits alone.
  Session session(bool trains, const UpdateOptions& update = {}) {
    std::vector<Program> programs;
    for (bool accumulate : {false, true}) {
      if (!trains) continue;
      programs.push_back(build_train(g.config, accumulate ? "grad_add" : "grad_first"));
      EXPECT_TRUE(run_passes(programs.back(), train_pipeline(accumulate), {}).ok());
    }
    programs.push_back(build_logits(g.config));
    EXPECT_TRUE(run_passes(programs.back(), forward_pipeline(), {}).ok());
    return make_session(g, std::move(programs), *backend, update);
  }

  const std::unique_ptr<Backend> backend =
      open_backend(std::get<1>(GetParam()), {.threads = 2}).value();
  Golden g = open_golden("encoders/" + std::get<0>(GetParam()));
};

TEST_P(EncoderParity, LogitsLossAndEveryGradient) {
  const json& labels = g.facts["labels"];
  std::vector<size_t> all(labels.size());
  for (size_t i = 0; i < all.size(); ++i) all[i] = i;
  const PaddedBatch batch =
      pack(g.config, g.facts["sequences"], g.facts["token_types"], labels, all);
  Session s = session(true);

  auto logits = s.output<float>(run(s, "logits", batch, 1), "logits");
  const bool by_sequence = g.config.head == Head::sequence_classification;
  const auto columns =
      static_cast<size_t>(g.config.head == Head::masked_lm ? g.config.vocab : g.config.labels);
  for (size_t i : all) {
    const std::vector<float> want = tensor(*g.expected, fmt::format("logits.{}", i));
    const size_t row = by_sequence ? i : static_cast<size_t>(batch.cu[i]);
    EXPECT_LT(departure(logits.subspan(row * columns, want.size()), want), 1e-4) << i;
  }

  const size_t k = run(s, "grad_first", batch, 1 / label_count(labels, all));
  EXPECT_NEAR(s.output<float>(k, "loss")[0], g.facts["loss"].get<double>(), 1e-4);
  expect_gradients(s, g);
}

// The emulated GPU takes the first three steps, unless tests_whole().
TEST_P(EncoderParity, TenLosses) {
  json t = g.facts["train"];
  json& losses = t["losses"];
  ASSERT_EQ(losses.size(), 10u);
  if (std::get<1>(GetParam()) == "cuda_emulated" && !tests_whole())
    losses.erase(losses.begin() + 3, losses.end());
  Session s = session(true, update_options(train_settings(t["settings"])).value());
  expect_losses(s, t, [&](size_t step, bool first, const std::vector<size_t>& micro) {
    double labels = 0;
    for (const json& m : t["micro"][step]) labels += label_count(t["labels"], m);
    const PaddedBatch batch = pack(g.config, t["rows"], t["types"], t["labels"], micro);
    const size_t k = run(s, first ? "grad_first" : "grad_add", batch, 1 / labels);
    return static_cast<double>(s.output<float>(k, "loss")[0]);
  });
}

// The body alone gives last_hidden_state, with the weights of a checkpoint that has a head.
TEST_P(EncoderParity, HiddenStates) {
  if (g.expected->find("hidden.0") == nullptr)
    return;  // goldens of BERT and RoBERTa have logits alone
  Golden body = open_golden("encoders/" + std::get<0>(GetParam()));
  ASSERT_TRUE(set_head(body.config, Head::none).ok());
  std::vector<Program> alone;
  alone.push_back(build_hidden(body.config));
  ASSERT_TRUE(run_passes(alone.back(), forward_pipeline(), {}).ok());
  Session s = Session::compile(std::move(alone), *backend).value();
  ASSERT_TRUE(s.allocate().ok());
  const Family& family = family_of(body.config);
  for (const ParamSpec& p : family.params(body.config)) {
    std::vector<std::string> names = family.other_names(body.config, p);
    names.insert(names.begin(), p.name);
    const auto found = std::find_if(names.begin(), names.end(), [&](const std::string& name) {
      return body.weights->find(name) != nullptr;
    });
    if (p.of_head) continue;
    ASSERT_NE(found, names.end()) << p.name;
    ASSERT_TRUE(load_state(s, p.name, *body.weights, *found).ok());
  }
  for (const ConstantTable& t : family.constants(body.config))
    s.write_state(t.name, std::as_bytes(std::span(t.values)));
  const json& rows = g.facts["sequences"];
  const PaddedBatch batch =
      pack(g.config, rows, g.facts["token_types"], g.facts["labels"], {0, 1, 2});
  const auto hidden = s.output<float>(run(s, "hidden", batch, 1), "hidden");
  for (size_t i = 0; i < rows.size(); ++i) {
    const std::vector<float> want = tensor(*g.expected, fmt::format("hidden.{}", i));
    const auto first = static_cast<size_t>(batch.cu[i] * body.config.hidden);
    EXPECT_LT(departure(hidden.subspan(first, want.size()), want), 1e-4) << i;
  }
}

// Rows that are packed with others have the bits of the same rows alone.
TEST_P(EncoderParity, PackedRowsEqualTheSameAlone) {
  if (std::get<1>(GetParam()) != "cpu") return;
  const json &rows = g.facts["sequences"], &types = g.facts["token_types"],
             &labels = g.facts["labels"];
  Session s = session(false);
  const bool by_sequence = g.config.head == Head::sequence_classification;
  const auto columns =
      static_cast<size_t>(g.config.head == Head::masked_lm ? g.config.vocab : g.config.labels);
  const auto logits_of_row = [&](const std::vector<size_t>& chosen, size_t at) {
    const PaddedBatch batch = pack(g.config, rows, types, labels, chosen);
    const auto logits = s.output<float>(run(s, "logits", batch, 1), "logits");
    const size_t row = by_sequence ? at : static_cast<size_t>(batch.cu[at]),
                 count = by_sequence ? 1 : rows[chosen[at]].size();
    const auto part = logits.subspan(row * columns, count * columns);
    return std::vector<float>(part.begin(), part.end());
  };
  for (size_t i = 0; i < rows.size(); ++i)
    EXPECT_EQ(logits_of_row({0, 1, 2}, i), logits_of_row({i}, 0)) << i;
}

// In bf16 as with --bf16: the loss stays near that of f32.
TEST_P(EncoderParity, LossInBf16) {
  if (std::get<1>(GetParam()) != "cpu") return;
  const json& labels = g.facts["labels"];
  std::vector<Program> in_bf16;
  in_bf16.push_back(build_train(g.config, "grad_first"));
  ASSERT_TRUE(
      run_passes(in_bf16.back(),
                 train_pipeline(false, {.precision = Precision::bf16, .stored = DType::bf16}), {})
          .ok());
  Session s = make_session(g, std::move(in_bf16), *backend, {});
  const PaddedBatch batch =
      pack(g.config, g.facts["sequences"], g.facts["token_types"], labels, {0, 1, 2});
  const size_t k = run(s, "grad_first", batch, 1 / label_count(labels, {0, 1, 2}));
  const double want = g.facts["loss"];
  EXPECT_NEAR(s.output<float>(k, "loss")[0], want, want / 16);
}

// The weights that decay are those of Transformers' Trainer.
TEST_P(EncoderParity, Decay) {
  std::set<std::string> decayed;
  for (const ParamSpec& p : family_of(g.config).params(g.config))
    if (p.decay) decayed.insert(p.name);
  EXPECT_EQ(decayed, g.facts["train"]["decayed"].get<std::set<std::string>>());
}

// Memory that host code cannot access runs the kernels of the CPU: BERT and RoBERTa stand for all there,
// unless tests_whole().
std::vector<BackendCase> encoder_cases() {
  const std::vector<std::string> all = goldens_with("encoders", "sequences");
  std::vector<BackendCase> cases = cases_on_backends(
      all, {"reference", "cpu"},
      {"bert_masked_lm", "deberta_v3_regression", "modernbert_mean_sequence_classification"});
  for (const std::string& name : all)
    if (named_backends().empty() &&
        (tests_whole() || name.starts_with("bert_") || name.starts_with("roberta_")))
      cases.emplace_back(name, "far");
  return cases;
}

INSTANTIATE_TEST_SUITE_P(All, EncoderParity, testing::ValuesIn(encoder_cases()),
                         [](const auto& info) { return name_of_case(info.param); });

}  // namespace
}  // namespace hone
