// A language model whose words are divided among ranks of one process has the losses and gradients of one rank.
#include "engine/passes/vocabulary_split.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "engine/backends/cpu/backend.h"
#include "engine/comm/loopback.h"
#include "engine/device/interpret.h"
#include "engine/ops/ops.h"
#include "engine/passes/pipelines.h"
#include "engine/session/session.h"

namespace hone {
namespace {

constexpr int64_t kTokensOfTest = 9, kWidth = 16, kInner = 12;

struct WordsCase {
  std::string name = {};
  int64_t words = 23;
  bool tied = true, bias = false;
  double smoothing = 0, softcap = 0;
  int64_t padding_row = -1;
  double logit_scale = 1;  // of the weights: large ones try the range of exp
};

// Its states are words, head, bias, up, down; `reports`: nll and correct are outputs, without gradients.
Program words_program(const WordsCase& c, bool reports) {
  Program p(op_table(), reports ? "eval" : "train");
  Builder b(p);
  const ValueId ids = p.add_input("ids", {DType::i32, {kTokensOfTest}}),
                labels = p.add_input("labels", {DType::i32, {kTokensOfTest}}),
                scale = p.add_input("scale", {DType::f32, {}});
  const auto state = [&](const char* name, Shape shape) {
    State s;
    s.name = name;
    s.trainable = true;
    return p.add_state(std::move(s), {DType::f32, std::move(shape)});
  };
  const ValueId words = state("words", {c.words, kWidth});
  const ValueId head = c.tied ? words : state("head", {c.words, kWidth});
  const ValueId bias = c.bias ? state("bias", {c.words}) : kNoValue;
  Attrs attrs;
  if (c.padding_row >= 0) attrs.set("padding_row", c.padding_row);
  ValueId x = b.emit1("embedding", {words, ids}, attrs);
  const ValueId inner = ops::gelu(b, ops::linear(b, x, state("up", {kWidth, kInner})));
  x = ops::add(b, x, ops::linear(b, inner, state("down", {kInner, kWidth})));
  const ops::CrossEntropy loss =
      ops::linear_cross_entropy(b, x, head, labels, scale, !reports, c.smoothing, bias, c.softcap);
  p.outputs.push_back({"loss", loss.loss});
  if (reports) {
    p.outputs.push_back({"nll", loss.nll});
    p.outputs.push_back({"correct", loss.correct});
  }
  return p;
}

double word_number(const std::string& name, int64_t i) {
  const auto seed = std::accumulate(name.begin(), name.end(), int64_t{7});
  return std::sin(static_cast<double>(i * 7919 + seed * 104729)) / std::sqrt(kWidth);
}

using Results = std::map<std::string, std::vector<double>>;  // by output

// The results of this rank, its gradients as outputs "grad.<state>". `rows`: by
// state, those of this rank, or -1 of columns.
Result<Results> run_words(const WordsCase& c, const Share& share, Group* group, bool reports,
                          std::map<std::string, RowRange>& rows) {
  std::unique_ptr<Backend> backend = HONE_TRY(open_cpu_backend(1));
  if (group) backend->device().set_group(group);
  Program p = words_program(c, reports);
  TensorSplit split;
  if (!share.alone()) split = HONE_TRY(find_tensor_split(p, share, 0));
  std::vector<Pass> passes =
      reports ? forward_pipeline(WeightStorage::f32, {.tensor = split})
              : step_pipeline([](Program&) -> Result<bool> { return false; }, {.tensor = split});
  HONE_TRY(run_passes(p, passes, {}));
  std::vector<Program> programs;
  programs.push_back(std::move(p));
  Session session = HONE_TRY(Session::compile(std::move(programs), *backend));
  HONE_TRY(session.allocate());
  for (const State& s : words_program(c, reports).states) {
    const Type type = words_program(c, reports).type(s.value);
    const int64_t row = type.count() / type.shape[0];
    const auto part = split.weights.find(s.name);
    const bool has = part != split.weights.end();
    std::vector<double> values;
    const AxisParts all{0, type.shape[0], {{0, type.shape[0]}}};
    const AxisParts& of = has ? part->second : all;
    for (int64_t i = 0; i < type.count(); ++i) {
      const int64_t at = of.axis == 0 ? i / row : i % row;
      if (at >= of.ranges[0].begin && at < of.ranges[0].end)
        values.push_back(c.logit_scale * word_number(s.name, i));
    }
    rows[s.name] = of.axis == 0 ? of.ranges[0] : RowRange{-1, -1};
    const Tensor t = Tensor::of(has ? of.part(type) : type, values);
    session.write_state(s.name, std::as_bytes(std::span(t.bytes)));
  }
  for (int64_t i = 0; i < kTokensOfTest; ++i) {
    const auto at = static_cast<size_t>(i);
    session.input<int32_t>(0, "ids")[at] = static_cast<int32_t>(i * 5 % c.words);
    session.input<int32_t>(0, "labels")[at] =
        i % 4 == 3 ? -100 : static_cast<int32_t>((i * 11 + 2) % c.words);
  }
  session.input<float>(0, "scale")[0] = 0.125F;
  session.run(0);
  HONE_TRY(session.check());
  Results results;
  for (const Named& o : session.programs()[0].outputs) {
    Tensor t(session.programs()[0].type(o.value));
    const auto bytes = session.output_bytes(0, o.name);
    std::copy(bytes.begin(), bytes.end(), reinterpret_cast<std::byte*>(t.bytes.data()));
    results[o.name] = t.numbers();
  }
  return results;
}

void expect_words(const WordsCase& c, int ranks) {
  for (const bool reports : {false, true}) {
    SCOPED_TRACE(fmt::format("{}, {} ranks, {}", c.name, ranks, reports ? "eval" : "train"));
    std::map<std::string, RowRange> whole;
    const Result<Results> one = run_words(c, {}, nullptr, reports, whole);
    ASSERT_TRUE(one.ok()) << one.error().text();
    LoopbackWorld world(ranks);
    const Status done = world.run([&](Group& g) -> Status {
      std::map<std::string, RowRange> rows;
      const Results mine = HONE_TRY(run_words(c, {g.rank(), ranks}, &g, reports, rows));
      EXPECT_LT(rows.at("words").count(), c.words) << "the table is divided";
      EXPECT_EQ(rows.at(c.tied ? "words" : "head"), rows.at("words"));
      for (const auto& [name, values] : mine) {
        const std::vector<double>& want = one->at(name);
        const bool gradient = name.starts_with("grad.");
        if (gradient && rows.at(name.substr(5)).begin < 0) continue;  // columns
        const int64_t all = gradient ? whole.at(name.substr(5)).count() : 1,
                      each = gradient ? static_cast<int64_t>(want.size()) / all : 0,
                      first = gradient ? rows.at(name.substr(5)).begin * each : 0;
        double largest = 1;
        for (const double x : want) largest = std::max(largest, std::fabs(x));
        for (size_t i = 0; i < values.size(); ++i)
          EXPECT_NEAR(values[i], want[static_cast<size_t>(first) + i], 1e-6 * largest)
              << name << "[" << i << "]";
      }
      return Ok{};
    });
    EXPECT_TRUE(done.ok()) << done.error().text();
  }
}

TEST(VocabularySplit, HasTheLossesAndGradientsOfOneRank) {
  for (const WordsCase& c : {WordsCase{.name = "tied"},
                             {.name = "untied, bias", .tied = false, .bias = true},
                             {.name = "smoothed", .bias = true, .smoothing = 0.1},
                             {.name = "capped", .softcap = 0.5},
                             {.name = "padded", .padding_row = 5},
                             {.name = "few words", .words = 4},
                             {.name = "large logits", .logit_scale = 40}})
    for (const int ranks : {2, 3}) expect_words(c, ranks);
}

// A head without a table of as many rows is a classifier, and stays whole; so does one whose weight a product reads too.
TEST(VocabularySplit, LeavesOtherHeadsWhole) {
  Program p = words_program({.tied = false}, false);
  EXPECT_EQ(vocabulary_weights(p, 2).size(), 2U);
  Builder b(p);
  p.outputs.push_back({"again", ops::linear(b, p.add_input("y", {DType::f32, {2, 23}}),
                                            p.state_named("head")->value)});
  EXPECT_TRUE(vocabulary_weights(p, 2).empty());
  EXPECT_TRUE(
      vocabulary_weights(words_program({.smoothing = 0.1, .softcap = 1}, false), 2).empty());
  EXPECT_TRUE(vocabulary_weights(words_program({.words = 23}, false), 24).empty());
}

}  // namespace
}  // namespace hone
