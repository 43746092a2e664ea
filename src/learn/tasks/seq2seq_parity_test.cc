// Logits, loss and every gradient tensor of tiny encoder-decoders against Transformers
// (tests/goldens/models, made again by tools/golden_seq2seq.py), packed and with slack.
#include "engine/backends/backends.h"
#include "engine/backends/tested_backends_test.h"
#include "learn/checkpoint/open_weights.h"
#include "learn/harness/collate.h"
#include "learn/harness/token_graph.h"
#include "learn/pretrained/pretrained.h"
#include "learn/tasks/parity.h"

namespace hone {
namespace {

using nlohmann::json;
using Rows = std::vector<std::pair<std::vector<int32_t>, std::vector<int32_t>>>;
const std::string kSeq2SeqGoldens = std::string(HONE_SOURCE_DIR) + "/tests/goldens/models/";
const BatchShape kPairShape{{{kSourceTokens, 64}, {kTargetTokens, 48}, {kSequences, 5}}};

// A softmax does not see what all keys have in common, so the gradient is nothing but rounding, of
// which Adam makes steps of its own.
bool vanishes(const std::string& name) { return name.ends_with("k_proj.bias"); }

class Seq2SeqParity : public testing::TestWithParam<std::tuple<std::string, std::string>> {
 protected:
  void SetUp() override {
    const std::string folder = kSeq2SeqGoldens + std::get<0>(GetParam());
    OpenOptions options;
    options.need_tokenizer = false;
    model = std::move(open_pretrained(folder, options).value());
    expected = std::move(open_weights(folder + "/golden.safetensors").value());
    facts = json::parse(std::ifstream(folder + "/golden.json"));
  }

  Session open(std::vector<Program> programs) {
    Result<Session> session = Session::compile(std::move(programs), *backend_);
    EXPECT_TRUE(session.ok()) << session.error().text();
    Session s = std::move(*session);
    EXPECT_TRUE(s.allocate().ok());
    EXPECT_TRUE(load_weights(s, model).ok());
    return s;
  }

  std::vector<float> golden(const std::string& name) { return tensor(*expected, name); }

  Session training(UpdateOptions update, double label_smoothing = 0, const TrainPasses& how = {}) {
    update.gradients = how.gradients;
    const Task task = task_with(label_smoothing);
    std::vector<Program> programs;
    for (bool accumulate : {false, true}) {
      programs.push_back(
          task.program(model.config, kPairShape, accumulate ? "grad_add" : "grad_first", true));
      EXPECT_TRUE(run_passes(programs.back(), train_pipeline(accumulate, how), {}).ok());
    }
    std::vector<UpdateWeight> weights;
    for (const ParamSpec& p : params())
      if (p.trained) weights.push_back({p.name, {DType::f32, p.shape}, p.decay});
    programs.push_back(build_update(weights, update));
    EXPECT_TRUE(run_passes(programs.back(), forward_pipeline(), {}).ok());
    return open(std::move(programs));
  }

  Session ten_losses(const json& t, const TrainPasses& how, double bound) {
    const auto rows = t["rows"].get<Rows>();
    Session s = training(update_options(train_settings(t["settings"])).value(), 0, how);
    const auto gradients = [&](size_t step, bool first, const std::vector<size_t>& micro) {
      double labels = 0;
      for (const auto& m : t["micro"][step].get<std::vector<std::vector<size_t>>>())
        for (size_t r : m) labels += static_cast<double>(rows[r].second.size());
      Rows some;
      for (size_t r : micro) some.push_back(rows[r]);
      const size_t program = s.program_index(first ? "grad_first" : "grad_add");
      run_rows(s, program, some, 1 / labels);
      return static_cast<double>(s.output<float>(program, "loss")[0]);
    };
    // The emulated GPU sums in another order, which ten steps in float16 amplify.
    const bool amplified = bound > 1e-4 && rounds_attention(*backend_);
    expect_losses(s, t, gradients, bound, amplified ? 25 : 0);
    return s;
  }

  static Task task_with(double label_smoothing) {
    Task task = task_named("summarization");
    task.settings->label_smoothing_factor = label_smoothing;
    return task;
  }

  std::vector<ParamSpec> params() const { return family_of(model.config).params(model.config); }

  // Packs the pairs into the program's inputs and runs it.
  void run_rows(Session& s, size_t program, const Rows& rows, double scale = 0) {
    TokenRows sources, targets;
    std::vector<int64_t> order;
    for (const auto& [source, target] : rows) {
      sources.add(source);
      targets.add(target);
      order.push_back(static_cast<int64_t>(order.size()));
    }
    const BatchRows batch{order, {}};
    Batch to = inputs_of(s, program);
    ASSERT_TRUE(collate_tokens(sources, batch, kEncoderInputs, to).ok());
    ASSERT_TRUE(collate_tokens(targets, batch, kDecoderInputs, to).ok());
    std::vector<int32_t> none(to.get<int32_t>("ids").size());
    decoder_inputs(targets, batch, model.config.decoder_start, to.get<int32_t>("ids"),
                   to.has("labels") ? to.get<int32_t>("labels") : std::span(none));
    const auto ids = to.get<int32_t>("ids"), cu = to.get<int32_t>("cu_seqlens");
    decoder_ids.assign(ids.begin(), ids.end());
    cu_seqlens.assign(cu.begin(), cu.end());
    const auto rng = to.get_if<int64_t>("rng");
    std::fill(rng.begin(), rng.end(), 1);
    if (to.has("scale")) to.get<float>("scale")[0] = static_cast<float>(scale);
    s.run(program);
  }

  Rows pairs() const {
    Rows rows;
    for (size_t i = 0; i < facts["sources"].size(); ++i)
      rows.push_back({facts["sources"][i].get<std::vector<int32_t>>(),
                      facts["targets"][i].get<std::vector<int32_t>>()});
    return rows;
  }

  Pretrained model;
  std::unique_ptr<WeightSource> expected;
  json facts;
  std::vector<int32_t> decoder_ids, cu_seqlens;  // of the rows that ran last

 private:
  const std::unique_ptr<Backend> backend_ =
      open_backend(std::get<1>(GetParam()), {.threads = 2}).value();
};

TEST_P(Seq2SeqParity, LogitsOfEachPairPackedWithOthers) {
  Program p(op_table(), "logits");
  Builder b(p);
  ModelGraph g(b, model.config, ModelGraph::Mode::eval);
  add_token_inputs(g, kPairShape);
  add_model_states(g, false);
  p.outputs.push_back({"logits", logits_of(b, model_head(g))});
  std::vector<Program> programs;
  programs.push_back(std::move(p));
  EXPECT_TRUE(run_passes(programs.back(), forward_pipeline(), {}).ok());
  Session s = open(std::move(programs));
  run_rows(s, 0, pairs());
  const std::span<const float> logits = s.output<float>(0, "logits");
  const auto V = static_cast<size_t>(model.config.vocab);
  for (size_t i = 0; i < facts["targets"].size(); ++i) {
    const auto from = static_cast<size_t>(cu_seqlens[i]),
               to = static_cast<size_t>(cu_seqlens[i + 1]);
    EXPECT_EQ(std::vector<int32_t>(decoder_ids.begin() + static_cast<std::ptrdiff_t>(from),
                                   decoder_ids.begin() + static_cast<std::ptrdiff_t>(to)),
              facts["decoder_ids"][i].get<std::vector<int32_t>>());
    EXPECT_LT(
        departure(logits.subspan(from * V, (to - from) * V), golden(fmt::format("logits.{}", i))),
        1e-4)
        << "pair " << i;
  }
}

TEST_P(Seq2SeqParity, LossAndEveryGradient) {
  Session s = training({});
  run_rows(s, s.program_index("grad_first"), pairs(), 1 / facts["label_tokens"].get<double>());
  EXPECT_NEAR(s.output<float>(s.program_index("grad_first"), "loss")[0],
              facts["loss"].get<double>(), 1e-4);
  size_t compared = 0;
  for (const ParamSpec& p : params()) {
    if (!p.trained) {
      EXPECT_FALSE(s.has_state(grad_name(p.name))) << p.name;
      continue;
    }
    ++compared;
    const std::vector<float> want = golden("grad." + p.name);
    const std::vector<float> got = s.state_values<float>(grad_name(p.name));
    if (!vanishes(p.name)) {
      EXPECT_LT(departure(got, want), 1e-4) << p.name;
      continue;
    }
    for (const float x : got) EXPECT_LT(std::abs(x), 1e-6f) << p.name;
  }
  size_t wanted = 0;
  for (const TensorInfo& t : expected->tensors()) wanted += t.name.starts_with("grad.") ? 1 : 0;
  EXPECT_EQ(compared, wanted);
}

TEST_P(Seq2SeqParity, EvalAndLabelSmoothing) {
  const json& smoothing = facts["smoothing"];
  std::vector<Program> programs;
  programs.push_back(task_with(0).program(model.config, kPairShape, "eval", false));
  programs.push_back(
      task_with(smoothing["factor"]).program(model.config, kPairShape, "smooth", false));
  for (Program& p : programs) EXPECT_TRUE(run_passes(p, forward_pipeline(), {}).ok());
  Session s = open(std::move(programs));
  for (size_t k : {0u, 1u}) {
    run_rows(s, k, pairs());
    const std::span<const float> nll = s.output<float>(k, "nll");
    double sum = 0;
    for (size_t i = 0; i < facts["targets"].size(); ++i) {
      double own = 0;
      for (auto t = static_cast<size_t>(cu_seqlens[i]); t < static_cast<size_t>(cu_seqlens[i + 1]);
           ++t)
        own += static_cast<double>(nll[t]);
      if (k == 0) {
        EXPECT_NEAR(own, facts["nll_sum_of"][i].get<double>(), 1e-3);
      }
      sum += own;
    }
    EXPECT_NEAR(sum / facts["label_tokens"].get<double>(),
                (k == 0 ? facts["loss"] : smoothing["loss"]).get<double>(), 1e-4);
  }
}

TEST_P(Seq2SeqParity, TenLossesUnderAutocast) {
  if (std::get<0>(GetParam()) != "t5_tiny") GTEST_SKIP() << "the golden is of t5_tiny";
  for (const Autocast& a : autocasts(std::get<1>(GetParam()))) {
    SCOPED_TRACE(a.key);
    ten_losses(autocast_golden("models/t5_tiny", a.key, facts["train"]), a.how, a.bound);
  }
}

TEST_P(Seq2SeqParity, TenLosses) {
  const json& t = facts["train"];
  Session s = ten_losses(t, {}, 1e-4);

  for (const ParamSpec& p : params()) {
    if (!p.trained || vanishes(p.name)) continue;
    double sum = 0;
    for (const double x : s.state_values<float>(p.name)) sum += std::abs(x);
    const double want = t["after"][p.name]["abs_sum"];
    EXPECT_NEAR(sum, want, 1e-3 * want) << p.name;
  }
}

INSTANTIATE_TEST_SUITE_P(All, Seq2SeqParity,
                         testing::ValuesIn(cases_on_backends(goldens_with("models", "sources"),
                                                             {"reference", "cpu", "far"},
                                                             {"t5_tiny"})),
                         [](const auto& info) { return name_of_case(info.param); });

}  // namespace
}  // namespace hone
