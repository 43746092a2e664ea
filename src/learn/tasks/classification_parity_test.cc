// Ten steps of classification and regression on packed pairs against a plain PyTorch loop
// (tests/goldens/classification, made again by tools/golden_classification.py), on both backends.
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>

#include "engine/backends/backends.h"
#include "engine/passes/pipelines.h"
#include "engine/session/session.h"
#include "learn/checkpoint/open_weights.h"
#include "learn/checkpoint/state_tensor.h"
#include "learn/tasks/classification.h"
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
  const BatchGrid steps{{4 * 32}, 4, 5},
      whole{{(data.rows.tokens() + 63) / 64 * 64}, rows, rows + 1};

  ClassificationSettings s;
  s.optim = "adam";
  s.weight_decay = 0.01;
  s.max_grad_norm = 0;
  std::vector<Program> programs;
  programs.push_back(s.build(config, {steps.largest(), steps.slots}, "train", true));
  ASSERT_TRUE(run_passes(programs.back(), train_pipeline(false, Precision::f32), {}).ok());
  programs.push_back(s.build(config, {whole.largest(), whole.slots}, "eval", false));
  ASSERT_TRUE(
      run_passes(programs.back(), forward_pipeline(WeightStorage::f32, Precision::f32), {}).ok());
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
    const BatchGrid& grid = program == "train" ? steps : whole;
    std::vector<int64_t> lengths;
    for (const int64_t row : chosen) lengths.push_back(data.rows.length(row));
    const StepPlan plan = plan_step(lengths, grid);
    EXPECT_EQ(plan.batches.size(), 1u);
    MicroBatch batch;
    LabelInputs labels;
    EXPECT_TRUE(fill_micro_batch(data.rows, chosen, plan.batches[0], grid, batch).ok());
    fill_label_inputs(data.rows, data.labels, batch, labels);
    const size_t k = session.program_index(program);
    const auto put = [&](const char* input, const auto& v) {
      if (!session.has_input(k, input)) return;
      const auto to = session.input_bytes(k, input);
      ASSERT_EQ(to.size(), v.size() * sizeof(v[0])) << input;
      std::memcpy(to.data(), v.data(), to.size());
    };
    put("ids", batch.ids);
    put("positions", batch.positions);
    put("cu_seqlens", batch.cu_seqlens);
    put("token_types", labels.token_types);
    if (regression)
      put("labels", labels.values);
    else
      put("labels", labels.classes);
    put("weight", labels.weight);
    put("sample_ids", batch.sample_ids);
    put("rng", std::vector<int64_t>{1, 1});
    put("scale", std::vector<float>{1.0f / static_cast<float>(chosen.size())});
    session.run(k);
    return k;
  };

  const size_t update = session.program_index("update");
  for (size_t step = 0; step < golden["losses"].size(); ++step) {
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
  const json& want = golden["after"]["logits"];
  const auto labels = static_cast<size_t>(config.labels);
  for (size_t i = 0; i < want.size(); ++i)
    for (size_t c = 0; c < labels; ++c)
      EXPECT_NEAR(logits[i * labels + c], want[i][c].get<double>(), 1e-3) << i << " " << c;
}

INSTANTIATE_TEST_SUITE_P(All, ClassificationParity,
                         testing::Combine(testing::Values("bert", "roberta", "bert_scores"),
                                          testing::Values("reference", "cpu", "far")),
                         [](const auto& info) {
                           return std::get<0>(info.param) + "_" + std::get<1>(info.param);
                         });

}  // namespace
}  // namespace hone
