// The log-probabilities of answers against the losses of the same tokens in language modelling.
#include "learn/tasks/preference_parts.h"

#include "engine/backends/backends.h"
#include "learn/tasks/parity.h"

namespace hone {
namespace {

// gemma2_tiny caps its logits: they are those of the model in every task.
TEST(AnswerScores, AreThoseOfTheModelsLogits) {
  const Golden golden = open_golden("models/gemma2_tiny");
  ASSERT_GT(golden.config.real("final_logit_softcapping", 0), 0);
  const int64_t tokens = 16;
  const BatchShape shape = tokens_shape(tokens, 2);
  const Type label_type{DType::i32, {tokens}};
  TokenGraph graph(golden.config, shape, "answers", false, label_type);
  const AnswerScores scores =
      answer_scores(graph, graph.program.add_input("answers", {DType::i32, {tokens}}));
  graph.program.outputs.push_back({"logps", scores.logps});
  std::vector<Program> programs;
  programs.push_back(std::move(graph.program));
  programs.push_back(token_loss_program(golden.config, shape, "eval", false, 0));
  for (Program& p : programs) ASSERT_TRUE(run_passes(p, forward_pipeline(), {}).ok());
  const auto backend = open_backend("cpu", {.threads = 2}).value();
  Session s = make_session(golden, std::move(programs), *backend, {});

  const auto row = golden.facts["sequences"][0].get<std::vector<int32_t>>();
  const size_t n = std::min<size_t>(row.size(), 16);
  ASSERT_GT(n, 4u);
  const auto run = [&](const char* program) {
    const size_t k = s.program_index(program);
    const auto ids = s.input<int32_t>(k, "ids"), labels = s.input<int32_t>(k, "labels"),
               positions = s.input<int32_t>(k, "positions"), cu = s.input<int32_t>(k, "cu_seqlens");
    std::ranges::fill(ids, 0), std::ranges::fill(labels, -100), std::ranges::fill(positions, 0);
    for (size_t i = 0; i < n; ++i) {
      ids[i] = row[i], positions[i] = static_cast<int32_t>(i);
      if (i + 1 < n) labels[i] = row[i + 1];
    }
    cu[0] = 0, cu[1] = static_cast<int32_t>(n), cu[2] = static_cast<int32_t>(tokens);
    if (program == std::string_view("answers")) {
      const auto answers = s.input<int32_t>(k, "answers");
      std::ranges::fill(answers, -1);
      std::fill_n(answers.begin(), n, 0);
    }
    s.run(k);
    return k;
  };
  double sum = 0;
  for (const float nll : s.output<float>(run("eval"), "nll")) sum += nll;
  EXPECT_NEAR(s.output<float>(run("answers"), "logps")[0], -sum, 1e-5 * sum);
}

}  // namespace
}  // namespace hone
