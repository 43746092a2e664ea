// Losses and gradients of text embeddings and rerankers against sentence-transformers (tests/goldens/embedding, made
// again by tools/golden_embedding.py): a step as one program, and as micro-batches with a joint loss.
#include <gtest/gtest.h>

#include <fstream>

#include "base/store/temporary_folder.h"
#include "engine/backends/backends.h"
#include "engine/backends/tested_backends_test.h"
#include "learn/models/text_embedding.h"
#include "learn/tasks/parity.h"
#include "learn/tasks/text_rows.h"

namespace hone {
namespace {

using nlohmann::json;
const std::string kEmbeddingGoldens = HONE_SOURCE_DIR "/tests/goldens/embedding/";

json golden_json(const std::string& name) {
  return json::parse(std::ifstream(kEmbeddingGoldens + name));
}

// The texts of the columns, row by row.
TextRows text_rows_of(const json& columns, const json& labels) {
  TextRows rows;
  rows.texts = std::ssize(columns);
  for (size_t i = 0; i < columns[0].size(); ++i) {
    std::vector<int32_t> ids;
    for (const json& column : columns) {
      const auto text = column[i].get<std::vector<int32_t>>();
      rows.lengths.push_back(static_cast<int32_t>(text.size()));
      ids.insert(ids.end(), text.begin(), text.end());
    }
    rows.rows.add(ids);
    if (labels.is_null()) continue;
    const auto own = labels[i].is_array() ? labels[i].get<std::vector<float>>()
                                          : std::vector<float>{labels[i].get<float>()};
    rows.labels_of_row = std::ssize(own);
    rows.labels.insert(rows.labels.end(), own.begin(), own.end());
  }
  return rows;
}

// Pairs of the first column with each other one.
json paired(const json& columns) {
  json pairs = json::array();
  for (size_t c = 1; c < columns.size(); ++c) {
    json column = columns[0];
    for (size_t i = 0; i < column.size(); ++i)
      column[i].insert(column[i].end(), columns[c][i].begin(), columns[c][i].end());
    pairs.push_back(column);
  }
  return pairs;
}

// A task whose rows have these columns, with the flags.
struct GoldenTask {
  TemporaryFolder folder;
  Task task;
  ModelConfig config;

  GoldenTask(const std::string& name, const std::string& model, size_t texts, const json& labels,
             std::vector<std::string> flags)
      : task(task_named(name)) {
    json row;
    for (size_t c = 0; c < texts; ++c) row[fmt::format("text{}", c)] = "a";
    if (!labels.is_null()) row["label"] = labels[0];
    std::ofstream(folder.path + "/rows.jsonl") << row.dump() << "\n";
    Schema own("", "");
    task.bind(own);
    EXPECT_TRUE(own.parse(flags, {}).ok());
    TaskSettings& s = *task.settings;
    s.do_train = true;
    s.train_file = {folder.path + "/rows.jsonl"};
    s.weight_decay = 0;
    s.max_grad_norm = 0;
    config = read_model_config(load_config(kEmbeddingGoldens + model).value()).value();
    const Status chosen = task.choose_head(config);
    EXPECT_TRUE(chosen.ok()) << chosen.error().text();
  }
};

class GoldenSession {
 public:
  GoldenSession(const GoldenTask& g, std::vector<Program> programs, const Backend& backend,
                const std::string& model)
      : config_(g.config) {
    std::vector<UpdateWeight> weights;
    for (const ParamSpec& p : family_of(config_).params(config_))
      if (p.is_trained()) weights.push_back({p.name, {DType::f32, p.shape}, p.decay});
    programs.push_back(build_update(weights, update_options(*g.task.settings).value()));
    EXPECT_TRUE(run_passes(programs.back(), forward_pipeline(), {}).ok());
    Result<Session> made = Session::compile(std::move(programs), backend);
    EXPECT_TRUE(made.ok()) << made.error().text();
    session.emplace(std::move(*made));
    EXPECT_TRUE(session->allocate().ok());
    const auto file = open_weights(kEmbeddingGoldens + model + "/model.safetensors").value();
    for (const ParamSpec& p : family_of(config_).params(config_))
      if (session->has_state(p.name)) {
        EXPECT_TRUE(load_state(*session, p.name, *file, p.name).ok()) << p.name;
      }
  }
  size_t run(const std::string& program, const TextRows& rows, const std::vector<int64_t>& chosen,
             double scale, std::span<const float> gradient = {}) {
    const size_t k = session->program_index(program);
    Batch to = inputs_of(*session, k);
    const Status done = collate_text_rows(config_, rows.rows, rows, {chosen, {}}, to);
    EXPECT_TRUE(done.ok());
    if (const auto rng = to.get_if<int64_t>("rng"); !rng.empty()) {
      std::fill(rng.begin(), rng.end(), 1);
      to.get<float>("scale")[0] = static_cast<float>(scale);
    }
    if (!gradient.empty()) {
      const auto at = to.get<float>("gradient");
      std::fill(std::copy(gradient.begin(), gradient.end(), at.begin()), at.end(), 0.0f);
    }
    session->run(k);
    return k;
  }
  void update(size_t step) {
    const size_t k = session->program_index("update");
    session->input<double>(k, "lr")[0] = 1e-3;
    session->input<int64_t>(k, "step")[0] = static_cast<int64_t>(step) + 1;
    session->run(k);
  }
  // `moves_freely`: the loss does not change if all embeddings move alike.
  void expect_gradients_of(const std::string& name, bool moves_freely) {
    const auto expected = open_weights(kEmbeddingGoldens + name + ".safetensors").value();
    size_t seen = 0;
    for (const ParamSpec& p : family_of(config_).params(config_)) {
      if (!p.is_trained()) continue;
      ++seen;
      double most = 1e-3;
      // Biases whose gradient is nothing but rounding.
      if (p.name.ends_with("attention.self.key.bias") ||
          (moves_freely && p.name.ends_with("output.LayerNorm.bias")))
        for (const float x :
             tensor(*expected, "grad." + p.name.substr(0, p.name.size() - 4) + "weight"))
          most = std::max(most, std::abs(static_cast<double>(x)));
      EXPECT_LT(departure(session->state_values<float>(grad_name(p.name)),
                          tensor(*expected, "grad." + p.name), most),
                2e-4)
          << p.name;
    }
    EXPECT_EQ(seen, expected->tensors().size()) << "the pooler is not trained";
  }
  std::optional<Session> session;

 private:
  const ModelConfig& config_;
};

std::vector<std::string> flags_of(const json& c) {
  std::vector<std::string> flags{
      "--loss=" + c["loss"].get<std::string>(), "--pooling_mode=" + c["pooling"].get<std::string>(),
      fmt::format("--normalize_embeddings={}", c["normalize"].get<bool>())};
  static const std::map<std::string, std::string> kNames{{"scale", "similarity_scale"},
                                                         {"distance", "distance_metric"}};
  for (const auto& [key, value] : c["options"].items()) {
    const auto name = kNames.find(key);
    std::string text = value.is_string() ? value.get<std::string>() : value.dump();
    if (value.is_array()) text = text.substr(1, text.size() - 2);
    flags.push_back(fmt::format("--{}={}", name == kNames.end() ? key : name->second, text));
  }
  return flags;
}

bool is_mean(const json& c) {
  return c["loss"] != "CoSENTLoss" && c["loss"] != "OnlineContrastiveLoss";
}

bool moves_freely(const json& c) {
  const json& o = c["options"];
  return o.contains("distance") ? o["distance"] != "cosine" : c["loss"] == "TripletLoss";
}

class EmbeddingParity : public testing::TestWithParam<std::tuple<std::string, std::string>> {};

TEST_P(EmbeddingParity, TenLossesGradientsAndTheEmbeddingsAfterThem) {
  const auto& [name, backend_name] = GetParam();
  const json c = golden_json("losses.json")[name];
  const TextRows rows = text_rows_of(c["columns"], c["labels"]);
  const GoldenTask g("embedding", "model", c["columns"].size(), c["labels"], flags_of(c));
  const TextRows singles = text_rows_of(json::array({c["columns"][0]}), nullptr);
  const BatchShape steps = tokens_shape(4 * 32, 5), whole = tokens_shape(128, 13);
  std::vector<Program> programs;
  programs.push_back(g.task.program(g.config, steps, "train", true));
  ASSERT_TRUE(run_passes(programs.back(), train_pipeline(false), {}).ok());
  programs.push_back(g.task.program(g.config, whole, "eval", false));
  ASSERT_TRUE(run_passes(programs.back(), forward_pipeline(WeightStorage::f32), {}).ok());
  const auto backend = open_backend(backend_name, {.threads = 2}).value();
  GoldenSession s(g, std::move(programs), *backend, "model");
  for (size_t step = 0; step < c["losses"].size(); ++step) {
    const auto chosen = c["steps"][step].get<std::vector<int64_t>>();
    const double scale = is_mean(c) ? 1.0 / static_cast<double>(chosen.size()) : 1;
    const size_t k = s.run("train", rows, chosen, scale);
    const double want = c["losses"][step];
    EXPECT_NEAR(s.session->output<float>(k, "loss")[0], want, 1e-4 * std::max(1.0, want)) << step;
    if (step == 0) s.expect_gradients_of(name, moves_freely(c));
    s.update(step);
  }
  std::vector<int64_t> all(12);
  std::iota(all.begin(), all.end(), 0);
  const size_t k = s.run("eval", singles, all, 1);
  const auto embeddings = s.session->output<float>(k, "embeddings");
  const json& after = c["after"];
  for (size_t i = 0; i < all.size(); ++i)
    for (size_t j = 0; j < 16; ++j) {
      double found = embeddings[i * 16 + j], want = after[i][j];
      if (moves_freely(c)) found -= embeddings[j], want -= after[0][j].get<double>();
      EXPECT_NEAR(found, want, 2e-3) << i << " " << j;
    }
}

// A step of four rows in micro-batches of two: the loss and the gradients of one program.
TEST_P(EmbeddingParity, MicroBatchesHaveTheLossAndGradientsOfTheWholeStep) {
  const auto& [name, backend_name] = GetParam();
  const json c = golden_json("losses.json")[name];
  const TextRows rows = text_rows_of(c["columns"], c["labels"]);
  const GoldenTask g("embedding", "model", c["columns"].size(), c["labels"], flags_of(c));
  const BatchShape part = tokens_shape(64, 3);
  const JointLoss& joint = *g.task.joint;
  std::vector<Program> programs;
  programs.push_back(joint.embed(g.config, part, "embed"));
  ASSERT_TRUE(run_passes(programs.back(), forward_pipeline(WeightStorage::f32), {}).ok());
  for (const bool again : {false, true}) {
    programs.push_back(joint.part(g.config, part, again ? "accumulate" : "train"));
    ASSERT_TRUE(run_passes(programs.back(), train_pipeline(again), {}).ok());
  }
  programs.push_back(joint.loss(g.config, 6, "joint"));  // of a step with room for six rows
  const auto as_input = [](Program& p) -> Result<bool> {
    p.inputs.push_back({"embeddings", p.state_named("embeddings")->value});
    p.states.clear();
    return true;
  };
  ASSERT_TRUE(run_passes(programs.back(), step_pipeline(as_input), {}).ok());
  const auto backend = open_backend(backend_name, {.threads = 2}).value();
  GoldenSession s(g, std::move(programs), *backend, "model");

  const auto chosen = c["steps"][0].get<std::vector<int64_t>>();
  const size_t width = 16 * static_cast<size_t>(rows.texts);
  std::vector<float> embeddings;
  const std::vector<std::vector<int64_t>> micro{{chosen[0], chosen[1]}, {chosen[2], chosen[3]}};
  for (const auto& two : micro) {
    const size_t k = s.run("embed", rows, two, 1);
    const auto out = s.session->output<float>(k, "embeddings");
    embeddings.insert(embeddings.end(), out.begin(), out.begin() + static_cast<int64_t>(2 * width));
  }
  const size_t k = s.session->program_index("joint");
  Batch to = inputs_of(*s.session, k);
  const auto in = to.get<float>("embeddings"), labels = to.get<float>("labels"),
             weight = to.get<float>("weight");
  ASSERT_EQ(in.size(), 6 * width);
  std::fill(std::copy(embeddings.begin(), embeddings.end(), in.begin()), in.end(), 0.0f);
  for (size_t i = 0; i < 6; ++i) {
    weight[i] = i < 4 ? 1 : 0;
    labels[i] = i < 4 && rows.labels_of_row > 0 ? rows.labels_of(chosen[i])[0] : 0;
  }
  to.get<float>("scale")[0] = is_mean(c) ? 0.25f : 1.0f;
  s.session->run(k);
  const double want = c["losses"][0];
  EXPECT_NEAR(s.session->output<float>(k, "loss")[0], want, 1e-4 * std::max(1.0, want));
  const auto found = s.session->output<float>(k, grad_name("embeddings"));
  const std::vector<float> gradient(found.begin(), found.end());
  for (size_t m = 0; m < 2; ++m)
    s.run(m == 0 ? "train" : "accumulate", rows, micro[m], 1,
          std::span(gradient).subspan(2 * m * width, 2 * width));
  s.expect_gradients_of(name, moves_freely(c));
}

INSTANTIATE_TEST_SUITE_P(All, EmbeddingParity,
                         testing::ValuesIn(cases_on_backends(
                             {"ranking_pairs", "ranking_triplets", "cosent", "cosine_similarity",
                              "triplet", "triplet_cosine", "triplet_manhattan", "contrastive",
                              "contrastive_euclidean", "online_contrastive", "matryoshka_ranking",
                              "matryoshka_cosent"},
                             {"reference", "cpu"}, {"ranking_pairs"})),
                         [](const auto& info) { return name_of_case(info.param); });

class RerankParity : public testing::TestWithParam<std::tuple<std::string, std::string>> {};

TEST_P(RerankParity, TenLosses) {
  const auto& [name, backend_name] = GetParam();
  const json c = golden_json("rerank.json")[name];
  const std::string model = c["folder"];
  const TextRows rows = text_rows_of(paired(c["columns"]), c["labels"]);
  const GoldenTask g(
      "rerank", model, c["columns"].size(), c["labels"],
      {"--loss=" + name, fmt::format("--pos_weight={}", c["pos_weight"].get<double>())});
  const BatchShape steps = tokens_shape(12 * 18, 5);
  std::vector<Program> programs;
  programs.push_back(g.task.program(g.config, steps, "train", true));
  ASSERT_TRUE(run_passes(programs.back(), train_pipeline(false), {}).ok());
  const auto backend = open_backend(backend_name, {.threads = 2}).value();
  GoldenSession s(g, std::move(programs), *backend, model);
  for (size_t step = 0; step < c["losses"].size(); ++step) {
    const auto chosen = c["steps"][step].get<std::vector<int64_t>>();
    const size_t k = s.run("train", rows, chosen, 1.0 / static_cast<double>(chosen.size()));
    const double want = c["losses"][step];
    EXPECT_NEAR(s.session->output<float>(k, "loss")[0], want, 1e-4 * std::max(1.0, want)) << step;
    s.update(step);
  }
}

INSTANTIATE_TEST_SUITE_P(All, RerankParity,
                         testing::ValuesIn(cases_on_backends({"BinaryCrossEntropyLoss", "MSELoss",
                                                              "CrossEntropyLoss", "MarginMSELoss"},
                                                             {"reference", "cpu"}, {"MSELoss"})),
                         [](const auto& info) { return name_of_case(info.param); });

}  // namespace
}  // namespace hone
