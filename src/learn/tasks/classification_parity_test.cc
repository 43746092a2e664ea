// Ten steps of classification and regression on packed pairs against a plain PyTorch loop
// (tests/goldens/classification, made again by tools/golden_classification.py), on both backends.
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>

#include "engine/backends/backends.h"
#include "engine/backends/tested_backends_test.h"
#include "engine/passes/pipelines.h"
#include "engine/session/session.h"
#include "learn/checkpoint/open_weights.h"
#include "learn/checkpoint/state_tensor.h"
#include "learn/data/batches/labelled_batch.h"
#include "learn/harness/collate.h"
#include "learn/tasks/classification_settings.h"
#include "learn/tasks/parity.h"
#include "learn/train/update.h"

namespace hone {
namespace {

using nlohmann::json;
const std::string kGoldens = HONE_SOURCE_DIR "/tests/goldens/classification/";

class ClassificationParity : public testing::TestWithParam<std::tuple<std::string, std::string>> {};

TEST_P(ClassificationParity, TenLossesAndTheLogitsAfterThem) {
  const auto& [name, backend_name] = GetParam();
  const std::string folder = kGoldens + name;
  const json golden = json::parse(std::ifstream(folder + "/golden.json"));
  const bool regression = name == "bert_scores";
  ModelConfig config = read_model_config(load_config(folder).value()).value();
  const LabelMap map =
      named_labels(regression ? std::vector<std::string>{} : find_glue_task("mnli")->names);
  ASSERT_TRUE(set_labels(config, map, "").ok());

  // The rows, their labels and the packed inputs of some of them.
  LabelledRows data;
  for (size_t i = 0; i < golden["ids"].size(); ++i) {
    data.rows.add(golden["ids"][i].get<std::vector<int32_t>>());
    for (const int type : golden["type_ids"][i].get<std::vector<int>>())
      data.labels.types.push_back(static_cast<uint8_t>(type));
    if (regression)
      data.labels.values.push_back(golden["targets"][i].get<float>());
    else
      data.labels.classes.push_back(golden["targets"][i].get<int32_t>());
  }
  const int64_t rows = data.size();
  const BatchShape steps = tokens_shape(4 * 32, 5),
                   whole = tokens_shape((data.rows.tokens() + 63) / 64 * 64, rows + 1);

  const Task task = task_named("classification");
  TaskSettings& s = *task.settings;
  s.optim = "adam";
  s.weight_decay = 0.01;
  s.max_grad_norm = 0;
  std::vector<Program> programs;
  programs.push_back(task.program(config, steps, "train", true));
  ASSERT_TRUE(run_passes(programs.back(), train_pipeline(false), {}).ok());
  programs.push_back(task.program(config, whole, "eval", false));
  ASSERT_TRUE(run_passes(programs.back(), forward_pipeline(WeightStorage::f32), {}).ok());
  std::vector<UpdateWeight> weights;
  for (const ParamSpec& p : family_of(config).params(config))
    weights.push_back({p.name, {DType::f32, p.shape}, p.decay});
  programs.push_back(build_update(weights, update_options(s).value()));
  ASSERT_TRUE(run_passes(programs.back(), forward_pipeline(), {}).ok());

  const auto backend = open_backend(backend_name, {.threads = 2}).value();
  Result<Session> made = Session::compile(std::move(programs), *backend);
  ASSERT_TRUE(made.ok()) << made.error().text();
  Session session = std::move(*made);
  ASSERT_TRUE(session.allocate().ok());
  const auto file = open_weights(folder + "/model.safetensors").value();
  for (const ParamSpec& p : family_of(config).params(config))
    ASSERT_TRUE(load_state(session, p.name, *file, p.name).ok()) << p.name;

  const auto run = [&](const std::string& program, const std::vector<int64_t>& chosen) {
    const BatchRows batch{chosen, {}};
    const size_t k = session.program_index(program);
    Batch to = inputs_of(session, k);
    EXPECT_TRUE(collate_tokens(data.rows, batch, kDecoderInputs, to).ok());
    LabelInputs labels{.token_types = to.get_if<int32_t>("token_types")};
    if (program == "train" && regression)
      labels.values = to.get<float>("labels"), labels.weight = to.get<float>("weight");
    else if (program == "train")
      labels.classes = to.get<int32_t>("labels");
    fill_labels(data.rows, data.labels, batch, labels);
    if (program == "train") {
      const auto rng = to.get<int64_t>("rng");
      std::fill(rng.begin(), rng.end(), 1);
      to.get<float>("scale")[0] = 1.0f / static_cast<float>(chosen.size());
    }
    session.run(k);
    return k;
  };

  const size_t update = session.program_index("update");
  const bool sampled = backend_name == "cuda_emulated" && !tests_whole();
  for (size_t step = 0; step < (sampled ? 3u : golden["losses"].size()); ++step) {
    const size_t k = run("train", golden["steps"][step].get<std::vector<int64_t>>());
    const double want = golden["losses"][step];
    EXPECT_NEAR(session.output<float>(k, "loss")[0], want, 1e-4 * std::max(1.0, want)) << step;
    session.input<double>(update, "lr")[0] = 1e-3;
    session.input<int64_t>(update, "step")[0] = static_cast<int64_t>(step) + 1;
    session.run(update);
    const double norm = golden["grad_norms"][step];
    EXPECT_NEAR(session.output<double>(update, "grad_norm")[0], norm, 1e-3 * std::max(1.0, norm))
        << step;
  }
  std::vector<int64_t> all(static_cast<size_t>(rows));
  for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<int64_t>(i);
  const auto logits = session.output<float>(run("eval", all), "logits");
  if (sampled) return;  // the golden has the logits after all steps
  const json& want = golden["after"]["logits"];
  const auto labels = static_cast<size_t>(config.labels);
  for (size_t i = 0; i < want.size(); ++i)
    for (size_t c = 0; c < labels; ++c)
      EXPECT_NEAR(logits[i * labels + c], want[i][c].get<double>(), 1e-3) << i << " " << c;
}

INSTANTIATE_TEST_SUITE_P(All, ClassificationParity,
                         testing::ValuesIn(cases_on_backends({"bert", "roberta", "bert_scores"},
                                                             {"reference", "cpu", "far"},
                                                             {"bert"})),
                         [](const auto& info) { return name_of_case(info.param); });

}  // namespace
}  // namespace hone
