// Logits, loss, every gradient and ten losses of encoders that choose one of several sequences against Transformers
// (tests/goldens/multiple_choice, made again by tools/golden_multiple_choice.py), by the programs of the task; rows and
// faults of its data.
#include <gmock/gmock.h>

#include <fstream>

#include "base/store/temporary_folder.h"
#include "engine/backends/backends.h"
#include "engine/backends/tested_backends_test.h"
#include "learn/tasks/multiple_choice_data.h"
#include "learn/tasks/parity.h"

namespace hone {
namespace {

using nlohmann::json;
using testing::HasSubstr;

constexpr int64_t kChoiceTokens = 96, kChoiceRows = 5;
const std::string kChoiceGoldens = HONE_SOURCE_DIR "/tests/goldens/multiple_choice/";

TextRows choice_rows_of(const json& sequences, const json& types, const json& labels) {
  TextRows rows;
  rows.labels_of_row = 1;
  for (size_t i = 0; i < sequences.size(); ++i) {
    rows.texts = std::ssize(sequences[i]);
    std::vector<int32_t> ids;
    for (size_t k = 0; k < sequences[i].size(); ++k) {
      const auto one = sequences[i][k].get<std::vector<int32_t>>();
      const auto kinds = types[i][k].get<std::vector<uint8_t>>();
      rows.lengths.push_back(static_cast<int32_t>(one.size()));
      ids.insert(ids.end(), one.begin(), one.end());
      rows.types.insert(rows.types.end(), kinds.begin(), kinds.end());
    }
    rows.rows.add(ids);
    rows.labels.push_back(labels[i].get<float>());
  }
  return rows;
}

class MultipleChoiceParity : public testing::TestWithParam<std::tuple<std::string, std::string>> {
 protected:
  MultipleChoiceParity() : g(open_golden("multiple_choice/" + std::get<0>(GetParam()))) {
    const Task task = task_named("multiple_choice");
    std::ofstream(folder.path + "/rows.jsonl")
        << R"({"sent1": "a", "sent2": "b", "ending0": "c", "ending1": "d", "ending2": "e", "label": 0})"
        << "\n";
    task.settings->do_train = true;
    task.settings->train_file = {folder.path + "/rows.jsonl"};
    const Status chosen = task.choose_head(g.config);
    EXPECT_TRUE(chosen.ok()) << chosen.error().text();
    const BatchShape shape = tokens_shape(kChoiceTokens, kChoiceRows);
    for (bool accumulate : {false, true}) {
      programs.push_back(
          task.program(g.config, shape, accumulate ? "grad_add" : "grad_first", true));
      EXPECT_TRUE(run_passes(programs.back(), train_pipeline(accumulate), {}).ok());
    }
    programs.push_back(task.program(g.config, shape, "logits", false));
    EXPECT_TRUE(run_passes(programs.back(), forward_pipeline(), {}).ok());
  }
  Session session(const UpdateOptions& update = {}) {
    return make_session(g, std::move(programs), *backend, update);
  }
  size_t run(Session& s, const std::string& name, const TextRows& rows,
             const std::vector<size_t>& chosen, double scale) const {
    const size_t k = s.program_index(name);
    Batch to = inputs_of(s, k);
    const Status done = collate_text_rows(
        g.config, rows.rows, rows, {std::vector<int64_t>(chosen.begin(), chosen.end()), {}}, to);
    EXPECT_TRUE(done.ok()) << done.error().text();
    if (const auto rng = to.get_if<int64_t>("rng"); !rng.empty()) {
      std::fill(rng.begin(), rng.end(), 1);
      to.get<float>("scale")[0] = static_cast<float>(scale);
    }
    s.run(k);
    return k;
  }

  const std::unique_ptr<Backend> backend =
      open_backend(std::get<1>(GetParam()), {.threads = 2}).value();
  TemporaryFolder folder;
  Golden g;
  std::vector<Program> programs;
};

TEST_P(MultipleChoiceParity, LogitsLossAndEveryGradient) {
  const TextRows rows =
      choice_rows_of(g.facts["sequences"], g.facts["token_types"], g.facts["labels"]);
  std::vector<size_t> all(static_cast<size_t>(rows.rows.size()));
  for (size_t i = 0; i < all.size(); ++i) all[i] = i;
  Session s = session();
  const auto logits = s.output<float>(run(s, "logits", rows, all, 1), "logits");
  for (size_t i : all) {
    const std::vector<float> want = tensor(*g.expected, fmt::format("logits.{}", i));
    EXPECT_LT(departure(logits.subspan(i * want.size(), want.size()), want), 1e-4) << i;
  }
  const size_t k = run(s, "grad_first", rows, all, 1 / static_cast<double>(all.size()));
  EXPECT_NEAR(s.output<float>(k, "loss")[0], g.facts["loss"].get<double>(), 1e-4);
  expect_gradients(s, g);
}

TEST_P(MultipleChoiceParity, TenLosses) {
  const json& t = g.facts["train"];
  const TextRows rows = choice_rows_of(t["rows"], t["types"], t["labels"]);
  Session s = session(update_options(train_settings(t["settings"])).value());
  expect_losses(s, t, [&](size_t step, bool first, const std::vector<size_t>& micro) {
    double count = 0;
    for (const json& m : t["micro"][step]) count += static_cast<double>(m.size());
    const size_t k = run(s, first ? "grad_first" : "grad_add", rows, micro, 1 / count);
    return static_cast<double>(s.output<float>(k, "loss")[0]);
  });
}

// A row's scores do not depend on the rows beside it.
TEST_P(MultipleChoiceParity, PackedRowsAreThoseAlone) {
  if (std::get<1>(GetParam()) != "reference") return;
  const TextRows rows =
      choice_rows_of(g.facts["sequences"], g.facts["token_types"], g.facts["labels"]);
  Session s = session();
  const auto scores = [&](const std::vector<size_t>& chosen, size_t at) {
    const auto logits = s.output<float>(run(s, "logits", rows, chosen, 1), "logits");
    const auto own = logits.subspan(at * 3, 3);
    return std::vector<float>(own.begin(), own.end());
  };
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(scores({0, 1, 2}, i), scores({i}, 0)) << i;
}

TEST_P(MultipleChoiceParity, Decay) {
  std::set<std::string> decayed;
  for (const ParamSpec& p : family_of(g.config).params(g.config))
    if (p.decay) decayed.insert(p.name);
  EXPECT_EQ(decayed, g.facts["train"]["decayed"].get<std::set<std::string>>());
}

std::vector<BackendCase> choice_cases() {
  std::vector<std::string> all;
  for (const std::string& name : goldens_with("multiple_choice", "sequences"))
    if (!name.starts_with("swag")) all.push_back(name);
  return cases_on_backends(all, {"reference", "cpu"}, {"electra"});
}

INSTANTIATE_TEST_SUITE_P(All, MultipleChoiceParity, testing::ValuesIn(choice_cases()),
                         [](const auto& info) { return name_of_case(info.param); });

TEST(MultipleChoiceData, NamesWhatIsWrong) {
  const TemporaryFolder folder;
  const auto error_of = [&](const std::string& line) {
    const std::string file = folder.path + "/rows.jsonl";
    std::ofstream(file) << line << "\n";
    MultipleChoiceSettings s;
    s.do_train = true;
    s.train_file = {file};
    OpenOptions options;
    options.need_weights = false;
    const Pretrained model = open_pretrained(kChoiceGoldens + "swag_bert", options).value();
    ThreadPool pool(1);
    const auto read = read_multiple_choice(s, model, pool);
    return read.ok() ? std::string("none") : read.error().text();
  };
  const auto row = [](const std::string& rest) {
    return R"({"sent1": "a", "sent2": "b", "ending0": "c")" + rest + "}";
  };
  EXPECT_THAT(error_of(row(R"(, "label": 0)")), HasSubstr("H2109"));
  EXPECT_THAT(error_of(row(R"(, "ending1": "d")")), HasSubstr("H2109"));
  EXPECT_THAT(error_of(row(R"(, "ending1": "d", "label": 2)")),
              HasSubstr("H2121  2 is not one of the choices 0 to 1"));
  EXPECT_THAT(error_of(row(R"(, "ending1": "d", "label": 0.5)")), HasSubstr("H2121"));
  EXPECT_THAT(error_of(row(R"(, "ending1": 7, "label": 0)")), HasSubstr("H2110"));
  EXPECT_THAT(error_of(row(R"(, "ending1": ["d"], "label": 0)")), HasSubstr("H2110"));
  EXPECT_EQ(error_of(row(R"(, "ending1": "d", "label": 1)")), "none");
}

}  // namespace
}  // namespace hone
