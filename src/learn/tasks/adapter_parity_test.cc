// LoRA and DoRA adapters of tiny models, some beside weights of 4 bits (QLoRA): logits, every
// gradient and ten losses against PEFT and bitsandbytes (tests/goldens/adapters, made again by
// tools/golden_adapters.py).
#include <unistd.h>

#include <filesystem>

#include "engine/backends/backends.h"
#include "engine/backends/tested_backends_test.h"
#include "learn/checkpoint/safetensors/safetensors_writer.h"
#include "learn/checkpoint/state_tensor.h"
#include "learn/harness/budget/disk_need.h"
#include "learn/harness/budget/programs.h"
#include "learn/models/adapter_config.h"
#include "learn/models/errors.h"
#include "learn/pretrained/pissa.h"
#include "learn/pretrained/pretrained.h"
#include "learn/tasks/parity.h"

namespace hone {
namespace {

using nlohmann::json;
const std::string kAllGoldens = std::string(HONE_SOURCE_DIR) + "/tests/goldens/";

// Rows one after another; `sources` are the encoder's.
struct PackedRows {
  std::vector<int32_t> ids, positions, types, labels, cu{0}, source_ids, source_positions,
      source_cu{0};
  std::vector<int64_t> samples, source_samples;

  explicit PackedRows(const json& rows) {
    int64_t sample = 0;
    for (const json& row : rows) {
      add(row["ids"], sample, ids, positions, samples, cu);
      if (row.contains("source"))
        add(row["source"], sample, source_ids, source_positions, source_samples, source_cu);
      for (const json& type : row.value("types", json::array())) types.push_back(type);
      for (const json& label : row["labels"]) labels.push_back(label);
      ++sample;
    }
  }
  static void add(const json& row, int64_t sample, std::vector<int32_t>& to,
                  std::vector<int32_t>& places, std::vector<int64_t>& samples,
                  std::vector<int32_t>& ends) {
    for (size_t i = 0; i < row.size(); ++i) {
      to.push_back(row[i]);
      places.push_back(static_cast<int32_t>(i));
      samples.push_back(sample);
    }
    ends.push_back(static_cast<int32_t>(to.size()));
  }
  double label_count() const {
    return static_cast<double>(
        std::count_if(labels.begin(), labels.end(), [](int32_t x) { return x >= 0; }));
  }
};

class AdapterParity : public testing::TestWithParam<std::tuple<std::string, std::string>> {
 protected:
  void SetUp() override {
    const std::string folder = kAllGoldens + "adapters/" + std::get<0>(GetParam());
    facts = json::parse(std::ifstream(folder + "/golden.json"));
    expected = std::move(open_weights(folder + "/golden.safetensors").value());
    open_model(folder);
    ASSERT_TRUE(check_adapter(model.config).ok());
    rows = PackedRows(facts["rows"]);
  }

  // The base with the adapter of that folder.
  void open_model(const std::string& adapter) {
    OpenOptions options;
    options.need_tokenizer = false;
    options.adapter_name = adapter;
    if (facts.contains("quantization")) {
      Quantization q;
      q.scheme = facts["quantization"]["bnb_4bit_quant_type"];
      q.nested = facts["quantization"].value("bnb_4bit_use_double_quant", false);
      options.quantization = std::make_shared<Quantization>(q);
    }
    model =
        std::move(open_pretrained(kAllGoldens + facts["base"].get<std::string>(), options).value());
  }

  ModelGraph graph(Program& p, Builder& b, ModelGraph::Mode mode) const {
    ModelGraph g(b, model.config, mode);
    const auto input = [&](const char* name, DType dtype, size_t n) {
      return p.add_input(name, {dtype, {static_cast<int64_t>(n)}});
    };
    g.ids = input("ids", DType::i32, rows.ids.size());
    g.positions = input("positions", DType::i32, rows.ids.size());
    g.cu_seqlens = input("cu_seqlens", DType::i32, rows.cu.size());
    if (!rows.types.empty()) g.token_types = input("types", DType::i32, rows.types.size());
    if (!rows.source_ids.empty()) {
      g.encoder_ids = input("encoder_ids", DType::i32, rows.source_ids.size());
      g.encoder_positions = input("encoder_positions", DType::i32, rows.source_ids.size());
      g.encoder_cu_seqlens = input("encoder_cu_seqlens", DType::i32, rows.source_cu.size());
    }
    if (mode != ModelGraph::Mode::train) return g;
    g.sample_ids = input("sample_ids", DType::i64, rows.ids.size());
    if (!rows.source_ids.empty())
      g.encoder_sample_ids = input("encoder_sample_ids", DType::i64, rows.source_ids.size());
    g.rng = input("rng", DType::i64, 2);
    return g;
  }

  Program training(double dropout) const {
    Program p(op_table(), "train");
    Builder b(p);
    ModelConfig config = without_dropout(model.config);
    auto adapter = std::make_shared<Adapter>(*config.adapter);
    adapter->dropout = dropout;
    config.adapter = adapter;
    ModelGraph g = graph(p, b, ModelGraph::Mode::train);
    ModelGraph with(b, config, ModelGraph::Mode::train);
    static_cast<TextInputs&>(with) = g;
    static_cast<EncoderInputs&>(with) = g;
    const ValueId scale = p.add_input("scale", {DType::f32, {}});
    const ValueId labels =
        p.add_input("labels", {DType::i32, {static_cast<int64_t>(rows.labels.size())}});
    add_model_states(with, true);
    const HeadLayer head = model_head(with);
    p.outputs.push_back({"loss", ops::linear_cross_entropy(b, head.x, head.weight, labels, scale,
                                                           true, 0, head.bias)
                                     .loss});
    return p;
  }

  Session open(std::vector<Program> programs) {
    Result<Session> session = Session::compile(std::move(programs), *backend_);
    EXPECT_TRUE(session.ok()) << session.error().text();
    Session s = std::move(*session);
    EXPECT_TRUE(s.allocate().ok());
    const Status loaded = load_weights(s, model);
    EXPECT_TRUE(loaded.ok()) << loaded.error().text();
    return s;
  }
  Session open_training() {
    std::vector<Program> programs;
    programs.push_back(training(0));
    EXPECT_TRUE(run_passes(programs.back(), train_pipeline(false), {}).ok());
    programs.push_back(build_update(update_weights(model.config),
                                    update_options(train_settings(facts["settings"])).value()));
    EXPECT_TRUE(run_passes(programs.back(), forward_pipeline(), {}).ok());
    return open(std::move(programs));
  }

  void run(Session& s) const {
    const auto put = [&](const char* name, const auto& v) {
      if (!s.has_input(0, name)) return;
      ASSERT_EQ(s.input_bytes(0, name).size(), v.size() * sizeof(v[0])) << name;
      std::memcpy(s.input_bytes(0, name).data(), v.data(), v.size() * sizeof(v[0]));
    };
    put("ids", rows.ids);
    put("positions", rows.positions);
    put("cu_seqlens", rows.cu);
    put("types", rows.types);
    put("labels", rows.labels);
    put("sample_ids", rows.samples);
    put("encoder_ids", rows.source_ids);
    put("encoder_positions", rows.source_positions);
    put("encoder_cu_seqlens", rows.source_cu);
    put("encoder_sample_ids", rows.source_samples);
    put("rng", std::vector<int64_t>{1, 1});
    put("scale", std::vector<float>{static_cast<float>(1 / rows.label_count())});
    s.run(0);
  }

  // A session whose only program made the logits of the model as it is.
  Session logits_session() {
    Program p(op_table(), "logits");
    Builder b(p);
    ModelGraph g = graph(p, b, ModelGraph::Mode::eval);
    add_model_states(g, false);
    p.outputs.push_back({"logits", logits_of(b, model_head(g))});
    std::vector<Program> programs;
    programs.push_back(std::move(p));
    EXPECT_TRUE(run_passes(programs.back(), forward_pipeline(), {}).ok());
    Session s = open(std::move(programs));
    run(s);
    return s;
  }

  Pretrained model;
  std::unique_ptr<WeightSource> expected;
  json facts;
  PackedRows rows{json::array()};

 private:
  const std::unique_ptr<Backend> backend_ =
      open_backend(std::get<1>(GetParam()), {.threads = 2}).value();
};

TEST_P(AdapterParity, Logits) {
  Session s = logits_session();
  const std::span<const float> logits = s.output<float>(0, "logits");
  size_t at = 0;
  for (size_t i = 0; i < facts["rows"].size(); ++i) {
    const std::vector<float> want = tensor(*expected, fmt::format("logits.{}", i));
    ASSERT_LE(at + want.size(), logits.size());
    EXPECT_LT(departure(logits.subspan(at, want.size()), want), 1e-4) << i;
    at += want.size();
  }
  EXPECT_EQ(at, logits.size());
}

TEST_P(AdapterParity, LossEveryGradientAndTenLosses) {
  Session s = open_training();
  run(s);
  EXPECT_NEAR(s.output<float>(0, "loss")[0], facts["loss"].get<double>(), 1e-4);
  size_t gradients = 0;
  for (const TensorInfo& t : expected->tensors()) {
    if (!t.name.starts_with("grad.")) continue;
    ++gradients;
    EXPECT_LT(departure(s.state_values<float>(t.name), tensor(*expected, t.name)), 2e-4) << t.name;
  }
  EXPECT_EQ(gradients, update_weights(model.config).size());
  const size_t update = s.program_index("update");
  for (size_t step = 0; step < facts["losses"].size(); ++step) {
    if (step > 0) run(s);
    const double want = facts["losses"][step];
    EXPECT_NEAR(s.output<float>(0, "loss")[0], want, 2e-4 * std::max(1.0, want)) << step;
    s.input<double>(update, "lr")[0] = facts["settings"]["learning_rate"].get<double>();
    s.input<int64_t>(update, "step")[0] = static_cast<int64_t>(step) + 1;
    s.run(update);
  }
}

// Only what the adapter trains has a gradient and moments, and no product makes one for other
// weights.
TEST_P(AdapterParity, FrozenWeightsCostNothing) {
  Program p = training(0.1);
  ASSERT_TRUE(run_passes(p, train_pipeline(false), {}).ok());
  std::map<std::string, Shape> frozen;
  size_t gradients = 0;
  for (const State& state : p.states) gradients += state.role == Role::grad ? 1 : 0;
  EXPECT_EQ(gradients, update_weights(model.config).size());
  for (const ParamSpec& spec : family_of(model.config).params(model.config))
    if (!spec.is_trained()) frozen[spec.name] = spec.shape;
  EXPECT_FALSE(frozen.empty());
  for (const Node& n : p.nodes) {
    if (n.phase != Phase::backward || n.op->name != "matmul") continue;
    for (const auto& [name, shape] : frozen)
      if (shape.size() == 2 && std::min(shape[0], shape[1]) > model.config.adapter->r) {
        EXPECT_NE(p.type(n.out[0]).shape, shape) << name;
      }
  }
}

// A file that PEFT wrote and hone's are alike: config and names.
TEST_P(AdapterParity, ConfigIsThatOfPeft) {
  const json ours = adapter_config(model.config, facts["base"].get<std::string>());
  const json theirs = json::parse(
      std::ifstream(kAllGoldens + "adapters/" + std::get<0>(GetParam()) + "/adapter_config.json"));
  for (const auto& [key, value] : ours.items()) {
    ASSERT_TRUE(theirs.contains(key)) << key;
    if (!value.is_array()) {
      EXPECT_EQ(value, theirs[key]) << key;
      continue;
    }
    const auto sorted = [](const json& list) {
      auto names = list.get<std::vector<std::string>>();
      std::sort(names.begin(), names.end());
      return names;
    };
    EXPECT_EQ(sorted(value), sorted(theirs[key])) << key;
  }
}

TEST_P(AdapterParity, MergedWeightsGiveTheSameLogits) {
  if (facts.contains("quantization"))
    GTEST_SKIP() << "the file has the weights before they are quantized";
  if (!model.config.adapter->parameters.empty()) {
    EXPECT_EQ(merge_adapter(model).error().code(), std::string(err::kBadAdapter.id));
    return;
  }
  ASSERT_TRUE(merge_adapter(model).ok());
  EXPECT_EQ(model.config.adapter, nullptr);
  Session s = logits_session();
  const std::vector<float> want = tensor(*expected, "logits.0");
  EXPECT_LT(departure(s.output<float>(0, "logits").subspan(0, want.size()), want), 1e-4);
}

std::filesystem::path pattern_folder() {
  return std::filesystem::temp_directory_path() / fmt::format("hone_patterns_{}", getpid());
}

// The same adapter, where layers of one name have a larger rank, with zeros, and an alpha of their own.
TEST_P(AdapterParity, PatternsGiveLayersTheirRanks) {
  const Adapter& a = *model.config.adapter;
  if (!a.parameters.empty()) GTEST_SKIP() << "its golden has such a pattern";
  const std::string layer = adapted_layers(model.config)[0];
  const std::string ending = layer.substr(layer.rfind('.') + 1);
  const int64_t rank = a.r + 2;
  json file = json::parse(
      std::ifstream(kAllGoldens + "adapters/" + std::get<0>(GetParam()) + "/adapter_config.json"));
  const double alpha = a.scale_of(layer) * (a.rslora ? std::sqrt(static_cast<double>(rank))
                                                     : static_cast<double>(rank));
  file["rank_pattern"] = {{ending, rank}};
  file["alpha_pattern"] = {{ending, alpha}};
  std::vector<std::vector<float>> values;
  std::vector<TensorData> tensors;
  for (const TensorInfo& t : model.adapter->tensors()) {
    std::vector<float> x = tensor(*model.adapter, t.name);
    Type type{DType::f32, t.type.shape};
    if (t.name.ends_with("." + ending + ".lora_A.weight")) {
      type.shape[0] = rank;
      x.resize(static_cast<size_t>(type.count()));
    }
    if (t.name.ends_with("." + ending + ".lora_B.weight")) {
      type.shape[1] = rank;
      std::vector<float> wide(static_cast<size_t>(type.count()));
      for (size_t i = 0; i < x.size(); ++i) {
        const auto r = static_cast<size_t>(a.r);
        wide[i / r * static_cast<size_t>(rank) + i % r] = x[i];
      }
      x = std::move(wide);
    }
    values.push_back(std::move(x));
    tensors.push_back({t.name, type, {}, {}});
  }
  for (size_t i = 0; i < values.size(); ++i) tensors[i].bytes = std::as_bytes(std::span(values[i]));
  const std::filesystem::path folder = pattern_folder();
  ASSERT_TRUE(save_safetensors(folder, kAdapterStem, tensors).ok());
  std::ofstream(folder / kAdapterConfigFile) << file.dump();
  open_model(folder);
  std::filesystem::remove_all(folder);
  EXPECT_EQ(model.config.adapter->rank_of(layer), rank);
  EXPECT_TRUE(check_adapter(model.config).ok());
  const json ours = adapter_config(model.config, "base");
  EXPECT_EQ(ours["rank_pattern"], file["rank_pattern"]);
  EXPECT_EQ(ours["alpha_pattern"], file["alpha_pattern"]);
  const std::vector<float> want = tensor(*expected, "logits.0");
  const auto near = [&](Session s) {
    EXPECT_LT(departure(s.output<float>(0, "logits").subspan(0, want.size()), want), 1e-4);
  };
  near(logits_session());
  if (facts.contains("quantization")) return;
  ASSERT_TRUE(merge_adapter(model).ok());
  near(logits_session());
}

// An adapter that begins with singular values of the layers. Their signs are free, losses are not.
class PissaParity : public AdapterParity {
 protected:
  void SetUp() override {
    const std::string folder = kAllGoldens + "adapters/" + std::get<0>(GetParam());
    facts = json::parse(std::ifstream(folder + "/golden.json"));
    expected = std::move(open_weights(folder + "/golden.safetensors").value());
    open_new(-1);
    rows = PackedRows(facts["rows"]);
  }
  void open_new(int64_t turns) {
    const json& arguments = facts["arguments"];
    auto adapter = std::make_shared<Adapter>();
    adapter->r = arguments["r"];
    adapter->alpha = arguments["lora_alpha"];
    adapter->rslora = arguments.value("use_rslora", false);
    adapter->targets = arguments["target_modules"].get<std::vector<std::string>>();
    adapter->first = std::make_shared<std::map<std::string, std::vector<float>>>();
    adapter->principal_turns = turns;
    OpenOptions options;
    options.need_tokenizer = false;
    options.adapter = adapter;
    model =
        std::move(open_pretrained(kAllGoldens + facts["base"].get<std::string>(), options).value());
  }
  void train_ten_steps(Session& s, double bound) {
    const size_t update = s.program_index("update");
    for (size_t step = 0; step < facts["losses"].size(); ++step) {
      run(s);
      const double want = facts["losses"][step];
      EXPECT_NEAR(s.output<float>(0, "loss")[0], want, bound) << step;
      s.input<double>(update, "lr")[0] = facts["settings"]["learning_rate"].get<double>();
      s.input<int64_t>(update, "step")[0] = static_cast<int64_t>(step) + 1;
      s.run(update);
    }
  }
};

TEST_P(PissaParity, TenLossesAndTheLoraOfTheUnchangedModel) {
  ASSERT_TRUE(check_adapter(model.config).ok());
  EXPECT_EQ(adapter_config(model.config, "base")["init_lora_weights"], "pissa");
  const std::filesystem::path folder = pattern_folder();
  {
    Session s = open_training();
    train_ten_steps(s, 1e-4);
    std::vector<TensorData> tensors;
    for (const std::string& name : saved_weights(model.config))
      tensors.push_back(state_tensor(s, name, name));
    ASSERT_TRUE(
        save_safetensors(folder, kAdapterStem, lora_of_pissa(s, model.config, std::move(tensors)))
            .ok());
  }
  ModelConfig config = model.config;
  config.adapter = lora_of_pissa(*model.config.adapter);
  const json file = adapter_config(config, "base");
  EXPECT_EQ(file["init_lora_weights"], true);
  EXPECT_EQ(file["r"], 2 * facts["arguments"]["r"].get<int64_t>());
  std::ofstream(folder / kAdapterConfigFile) << file.dump();
  open_model(folder);
  std::filesystem::remove_all(folder);
  EXPECT_EQ(config.adapter->scale_of("x"), model.config.adapter->scale_of("x"));
  Session s = logits_session();
  const std::vector<float> want = tensor(*expected, "logits.0");
  EXPECT_LT(departure(s.output<float>(0, "logits").subspan(0, want.size()), want), 2e-4);
}

// The layers have few columns: 300 turns find the values nearly.
TEST_P(PissaParity, TheIterationFindsThemNearly) {
  open_new(300);
  EXPECT_EQ(adapter_config(model.config, "base")["init_lora_weights"], "pissa_niter_300");
  Session s = open_training();
  train_ten_steps(s, 1e-3);
}

TEST_P(PissaParity, WhatHasNoPlainMatrixIsRefused) {
  const auto refused = [&](auto change) {
    auto adapter = std::make_shared<Adapter>(*model.config.adapter);
    ModelConfig config = model.config;
    change(*adapter, config);
    config.adapter = adapter;
    const Status checked = check_adapter(config);
    return !checked.ok() && checked.error().is(err::kBadAdapter);
  };
  EXPECT_TRUE(refused([](Adapter& a, ModelConfig&) { a.dora = true; }));
  EXPECT_TRUE(
      refused([](Adapter&, ModelConfig& c) { c.quantization = std::make_shared<Quantization>(); }));
}

TEST(AdapterConfig, TheFirstPatternThatMatchesCounts) {
  const auto read = [](const char* text) {
    return read_adapter_config(OrderedJson::parse(text)).value();
  };
  const Adapter a = read(R"({"peft_type": "LORA", "r": 8, "lora_alpha": 16,
      "rank_pattern": {"layers.0.self_attn.q_proj": 4, "q_proj": 2, "^model.layers.[12].*k_proj": 32},
      "alpha_pattern": {"(q|k)_proj": 64}})");
  EXPECT_EQ(a.rank_of("model.layers.0.self_attn.q_proj"), 4);
  EXPECT_EQ(a.rank_of("model.layers.1.self_attn.q_proj"), 2);
  EXPECT_EQ(a.rank_of("model.layers.1.self_attn.my_q_proj"), 8);  // whole parts of the name
  EXPECT_EQ(a.rank_of("model.layers.2.self_attn.k_proj"), 32);
  EXPECT_EQ(a.rank_of("model.layers.3.self_attn.k_proj"), 8);
  EXPECT_EQ(a.scale_of("model.layers.2.self_attn.k_proj"), 2);
  EXPECT_EQ(a.scale_of("model.layers.2.self_attn.v_proj"), 2);
  EXPECT_EQ(a.scale_of("model.layers.0.self_attn.q_proj"), 16);
  // Files keep their order, which PEFT sorts when it writes.
  const Adapter other =
      read(R"({"peft_type": "LORA", "rank_pattern": {"q_proj": 2, "0.q_proj": 4}})");
  EXPECT_EQ(other.rank_of("0.q_proj"), 2);
}

std::string refusal(const char* key, const json& value) {
  json file{{"peft_type", "LORA"}};
  file[key] = value;
  const Result<Adapter> read = read_adapter_config(file);
  return read.ok() ? "" : read.error().code();
}

TEST(AdapterConfig, RefusesWhatChangesTheResult) {
  EXPECT_EQ(refusal("rank_pattern", json::object()), "");
  EXPECT_EQ(refusal("exclude_modules", nullptr), "");
  EXPECT_EQ(refusal("init_lora_weights", "gaussian"), "");
  EXPECT_EQ(refusal("init_lora_weights", "eva"), "");
  EXPECT_EQ(refusal("a_key_of_tomorrow", false), "");
  for (const auto& [key, value] :
       std::vector<std::pair<const char*, json>>{{"peft_type", "IA3"},
                                                 {"rank_pattern", {{"q_proj", 0}}},
                                                 {"rank_pattern", {{"q_proj", 1.5}}},
                                                 {"rank_pattern", {{"q_(proj", 4}}},
                                                 {"alpha_pattern", {{"q_proj", "4"}}},
                                                 {"alpha_pattern", {4}},
                                                 {"layers_to_transform", {0, 1}},
                                                 {"lora_bias", true},
                                                 {"init_lora_weights", "pissa"},
                                                 {"init_lora_weights", "pissa_niter_4"},
                                                 {"init_lora_weights", "loftq"},
                                                 {"trainable_token_indices", {1, 2}},
                                                 {"a_key_of_tomorrow", "on"},
                                                 {"target_modules", ".*(?<!mlp"},
                                                 {"bias", "all"},
                                                 {"r", 0},
                                                 {"lora_dropout", 1.5},
                                                 {"target_modules", {1, 2}}})
    EXPECT_EQ(refusal(key, value), std::string(err::kBadAdapter.id)) << key;
}

const std::vector<std::string> kAdapters = {"gpt2_lora",
                                            "llama_lora",
                                            "bert_lora",
                                            "t5_lora",
                                            "gpt2_dora",
                                            "llama_dora",
                                            "bert_dora",
                                            "t5_dora",
                                            "llama_qlora",
                                            "llama_qdora",
                                            "gpt2_qlora",
                                            "t5_qlora",
                                            "llama_saved_nf4",
                                            "gpt2_saved_fp4",
                                            "qwen2_moe_lora",
                                            "mixtral_experts_lora",
                                            "gpt_oss_experts_lora",
                                            "qwen3_moe_experts_lora"};
INSTANTIATE_TEST_SUITE_P(All, AdapterParity,
                         testing::ValuesIn(cases_on_backends(kAdapters, {"cpu", "reference"},
                                                             {"llama_lora", "t5_qlora"})),
                         [](const auto& info) { return name_of_case(info.param); });
INSTANTIATE_TEST_SUITE_P(All, PissaParity,
                         testing::ValuesIn(cases_on_backends({"gpt2_pissa", "llama_pissa"}, {"cpu"},
                                                             {})),
                         [](const auto& info) { return name_of_case(info.param); });

}  // namespace
}  // namespace hone
