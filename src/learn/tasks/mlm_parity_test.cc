// Loss, gradients and ten losses of tiny masked language models with given masks against PyTorch
// (tests/goldens/mlm, made again by tools/golden_mlm.py); labels that take two passes.
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>

#include "base/core/log.h"
#include "base/store/temporary_folder.h"
#include "engine/backends/backends.h"
#include "engine/backends/tested_backends_test.h"
#include "engine/passes/differentiate.h"
#include "engine/passes/pipelines.h"
#include "learn/harness/run/task_run.h"
#include "learn/pretrained/weights.h"
#include "learn/tasks/mlm_settings.h"
#include "learn/tasks/parity.h"
#include "learn/tokenizers/load/load.h"
#include "learn/train/schedule.h"
#include "learn/train/update.h"

namespace hone {
namespace {

const std::string kMlmGoldens = std::string(HONE_SOURCE_DIR) + "/tests/goldens/mlm/";
const BatchShape kShape = tokens_shape(64, 4);

Pretrained open_model(const std::string& name) {
  OpenOptions o;
  o.need_tokenizer = false;
  Pretrained model = std::move(open_pretrained(kMlmGoldens + name, o).value());
  EXPECT_TRUE(set_head(model.config, Head::masked_lm).ok());
  return model;
}

// Packs rows {ids, labels}, puts the labels from the `first` on, and runs. True: labels are left.
bool run_mlm_rows(Session& s, size_t program, const Json& rows, int64_t room, size_t first,
                  double scale, double& loss) {
  std::vector<int32_t> ids, positions, cu{0}, all_places, all_labels;
  std::vector<int64_t> samples;
  for (size_t r = 0; r < rows.size(); ++r) {
    const auto row = rows[r]["ids"].get<std::vector<int32_t>>();
    const auto want = rows[r]["labels"].get<std::vector<int32_t>>();
    for (size_t i = 0; i < row.size(); ++i) {
      if (want[i] != kIgnoreLabel) {
        all_places.push_back(static_cast<int32_t>(ids.size()));
        all_labels.push_back(want[i]);
      }
      ids.push_back(row[i]);
      positions.push_back(static_cast<int32_t>(i));
      samples.push_back(static_cast<int64_t>(r));
    }
    cu.push_back(static_cast<int32_t>(ids.size()));
  }
  const auto T = static_cast<size_t>(kShape[kTokens]), M = static_cast<size_t>(room);
  ids.resize(T, 0);
  positions.resize(T, 0);
  samples.resize(T, -1);
  cu.resize(static_cast<size_t>(kShape[kSequences]) + 1, static_cast<int32_t>(T));
  std::vector<int32_t> places(M, -1), labels(M, kIgnoreLabel);
  for (size_t i = first; i < std::min(first + M, all_places.size()); ++i) {
    places[i - first] = all_places[i];
    labels[i - first] = all_labels[i];
  }
  const auto put = [&](const char* name, const auto& v) {
    auto to = s.input_bytes(program, name);
    ASSERT_EQ(to.size(), v.size() * sizeof(v[0])) << name;
    std::memcpy(to.data(), v.data(), to.size());
  };
  put("ids", ids);
  put("positions", positions);
  put("cu_seqlens", cu);
  put("sample_ids", samples);
  put("label_rows", places);
  put("labels", labels);
  put("rng", std::vector<int64_t>{1, 1});
  put("scale", std::vector<float>{static_cast<float>(scale)});
  s.run(program);
  loss += static_cast<double>(s.output<float>(program, "loss")[0]);
  return first + M < all_places.size();
}

double mlm_label_count(const Json& rows) {
  double n = 0;
  for (const Json& row : rows)
    for (const Json& label : row["labels"]) n += label != kIgnoreLabel;
  return n;
}

class MlmParity : public testing::TestWithParam<std::tuple<BackendCase, int64_t>> {
 protected:
  Session make(UpdateOptions update, const TrainPasses& how = {}) {
    update.gradients = how.gradients;
    std::vector<Program> programs;
    for (const bool add : {false, true}) {
      programs.push_back(task_named("mlm").program(model_.config, kShape.with(kLabels, room_),
                                                   add ? "add" : "first", true));
      EXPECT_TRUE(run_passes(programs.back(), train_pipeline(add, how), {}).ok());
    }
    std::vector<UpdateWeight> weights;
    for (const ParamSpec& p : family_of(model_.config).params(model_.config))
      weights.push_back({p.name, {DType::f32, p.shape}, p.decay});
    programs.push_back(build_update(weights, update));
    EXPECT_TRUE(run_passes(programs.back(), forward_pipeline(), {}).ok());
    Result<Session> session = Session::compile(std::move(programs), *backend_);
    EXPECT_TRUE(session.ok()) << session.error().text();
    EXPECT_TRUE(session->allocate().ok());
    const Status loaded = load_weights(*session, model_);
    EXPECT_TRUE(loaded.ok()) << (loaded.ok() ? "" : loaded.error().text());
    return std::move(*session);
  }
  // Gradients of the micro-batches of a step, as the task makes them.
  double step(Session& s, const std::vector<Json>& micro) {
    double labels = 0, loss = 0;
    for (const Json& rows : micro) labels += mlm_label_count(rows);
    size_t program = 0;
    for (const Json& rows : micro) {
      bool again = true;
      for (int64_t pass = 0; again; ++pass, program = 1)
        again = run_mlm_rows(s, program, rows, room_, static_cast<size_t>(pass * room_), 1 / labels,
                             loss);
    }
    return loss;
  }

  void ten_losses(const Json& t, const TrainPasses& how, double bound) {
    const Json& o = t["settings"];
    Session s = make(update_options(train_settings(o)).value(), how);
    const size_t update = s.program_index("update");
    const Schedule schedule = Schedule::make({o["lr_scheduler_type"], o["learning_rate"],
                                              o["warmup_steps"], o["max_steps"]})
                                  .value();
    ASSERT_EQ(t["losses"].size(), 10u);
    for (size_t k = 0; k < t["losses"].size(); ++k) {
      const double loss = step(s, t["steps"][k].get<std::vector<Json>>());
      s.input<double>(update, "lr")[0] = schedule.rate(static_cast<int64_t>(k));
      s.input<int64_t>(update, "step")[0] = static_cast<int64_t>(k) + 1;
      s.run(update);
      EXPECT_NEAR(loss, t["losses"][k].get<double>(), bound * loss) << "step " << k;
      EXPECT_NEAR(s.output<double>(update, "grad_norm")[0], t["grad_norms"][k].get<double>(),
                  (bound <= 1e-4                 ? 10
                   : rounds_attention(*backend_) ? 30
                                                 : 24) *
                      bound * t["grad_norms"][k].get<double>())
          << "step " << k;
    }
  }

  const Pretrained model_ = open_model(std::get<0>(std::get<0>(GetParam())));
  const int64_t room_ = std::get<1>(GetParam());
  const Json golden_ = Json::parse(
      std::ifstream(kMlmGoldens + std::get<0>(std::get<0>(GetParam())) + "/golden.json"));

 private:
  const std::unique_ptr<Backend> backend_ =
      open_backend(std::get<1>(std::get<0>(GetParam())), {.threads = 2}).value();
};

TEST_P(MlmParity, LossAndGradients) {
  Session s = make({});
  const double loss = step(s, {golden_["sequences"]});
  EXPECT_NEAR(loss, golden_["loss"].get<double>(), 1e-4 * loss);
  EXPECT_EQ(golden_["gradients"].size(), family_of(model_.config).params(model_.config).size());
  for (const auto& [name, sums] : golden_["gradients"].items()) {
    double sum = 0, magnitude = 0;
    for (const double x : s.state_values<float>(grad_name(name))) {
      sum += x;
      magnitude += std::abs(x);
    }
    const double largest = sums[1].get<double>();
    EXPECT_NEAR(sum, sums[0].get<double>(), 1e-4 * largest + 1e-6) << name;
    EXPECT_NEAR(magnitude, largest, 1e-4 * largest + 1e-6) << name;
  }
}

TEST_P(MlmParity, TenLosses) { ten_losses(golden_["train"], {}, 1e-4); }

TEST_P(MlmParity, TenLossesUnderAutocast) {
  if (std::get<0>(std::get<0>(GetParam())) != "bert_tiny")
    GTEST_SKIP() << "the golden is of bert_tiny";
  for (const Autocast& a : autocasts(std::get<1>(std::get<0>(GetParam())))) {
    SCOPED_TRACE(a.key);
    ten_losses(autocast_golden("mlm/bert_tiny", a.key, golden_["train"]), a.how, a.bound);
  }
}

// 64 label rows hold every label at once, 4 take several passes.
INSTANTIATE_TEST_SUITE_P(
    All, MlmParity,
    testing::Combine(testing::ValuesIn(cases_on_backends({"bert_tiny", "roberta_tiny"},
                                                         {"reference", "cpu", "far"},
                                                         {"roberta_tiny"})),
                     testing::Values(64, 4)),
    [](const auto& info) {
      return fmt::format("{}_{}", name_of_case(std::get<0>(info.param)), std::get<1>(info.param));
    });

// A run whose one row has more labels than its program has room for loses none of them.
TEST(MlmTask, LabelsBeyondTheRoomAreNotLost) {
  constexpr int64_t kTokens = 43;
  const int64_t room = label_rows_of(kTokens, 0.15);
  ASSERT_LT(room, kTokens);
  std::vector<int32_t> ids;
  for (int32_t i = 0; i < kTokens; ++i) ids.push_back(5 + i * 7 % 80);
  // Few seeds draw as many.
  const auto seed_of = [&](int64_t step) {
    for (uint64_t seed = 0;; ++seed)
      if (TokenMasker({0.15, seed, 4, 92, {}}).count(step, 0, ids) > room) return seed;
  };
  set_log_level(LogLevel::kWarning);
  const TemporaryFolder folder;
  std::ofstream(folder.path + "/rows.jsonl")
      << fmt::format("{{\"ids\": [{}]}}\n", fmt::join(ids, ", "));
  for (const bool train : {true, false}) {
    const auto own = std::make_shared<MlmSettings>();
    MlmSettings& s = *own;
    s.train_file = s.validation_file = {folder.path + "/rows.jsonl"};
    s.text_column = "ids";
    s.do_train = train;
    s.do_eval = !train;
    s.max_steps = 1;
    s.max_seq_length = kTokens;
    s.line_by_line = true;
    s.per_device_train_batch_size = s.per_device_eval_batch_size = 1;
    s.threads = 1;
    s.seed = static_cast<int64_t>(seed_of(train ? 0 : -1));
    Pretrained model = open_model("bert_tiny");
    model.tokenizer = load_tokenizer(kMlmGoldens + "bert_tiny").value();
    const Pretrained same = open_model("bert_tiny");
    const Task task = mlm_task(own);
    auto run = TaskRun::open(task, std::move(model), false);
    ASSERT_TRUE(run.ok()) << run.error().text();
    double got = 0;
    if (train) {
      got = (*run)->take_step(0, {}).value().loss;
    } else {
      got = (*run)->evaluate().value()["loss"].get<double>();
    }
    // All at once, in a program with room for every token.
    std::vector<int32_t> seen = ids, labels(ids.size());
    TokenMasker({0.15, static_cast<uint64_t>(s.seed), 4, 92, {}})
        .mask(train ? 0 : -1, 0, seen, labels);
    const Json rows = Json::array({{{"ids", seen}, {"labels", labels}}});
    ASSERT_GT(mlm_label_count(rows), static_cast<double>(room));
    const auto cpu = open_backend("cpu", {.threads = 1}).value();
    std::vector<Program> programs = {
        task.program(same.config, kShape.with(kLabels, 64), "whole", true)};
    ASSERT_TRUE(run_passes(programs[0], train_pipeline(false), {}).ok());
    Session whole = std::move(Session::compile(std::move(programs), *cpu).value());
    ASSERT_TRUE(whole.allocate().ok());
    ASSERT_TRUE(load_weights(whole, same).ok());
    double want = 0;
    EXPECT_FALSE(run_mlm_rows(whole, 0, rows, 64, 0, 1 / mlm_label_count(rows), want));
    EXPECT_NEAR(got, want, 1e-5 * want) << (train ? "training" : "evaluation");
  }
  set_log_level(LogLevel::kInfo);
}

}  // namespace
}  // namespace hone
