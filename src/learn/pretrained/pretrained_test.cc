// Opening, saving and opening again, on the tiny models of tests/goldens/models.
#include "learn/pretrained/pretrained.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <sstream>

#include "base/core/json.h"
#include "base/core/philox.h"
#include "base/core/text.h"
#include "base/store/temporary_folder.h"
#include "engine/backends/reference/reference.h"
#include "learn/checkpoint/open_weights.h"
#include "learn/checkpoint/safetensors/safetensors_writer.h"
#include "learn/pretrained/errors.h"
#include "learn/pretrained/open.h"
#include "learn/pretrained/weights.h"
#include "learn/pretrained/wrapped.h"

namespace hone {
namespace {

namespace fs = std::filesystem;
const std::string kModels = std::string(HONE_SOURCE_DIR) + "/tests/goldens/models/";
const OpenOptions kNoTokenizer{.need_tokenizer = false};

class PretrainedTest : public testing::Test {
 protected:
  // A session that holds the model's weights.
  Session session(const ModelConfig& config) {
    Program p(op_table(), "eval");
    Builder b(p);
    ModelGraph g(b, config, ModelGraph::Mode::eval);
    g.ids = p.add_input("ids", {DType::i32, {4}});
    g.positions = p.add_input("positions", {DType::i32, {4}});
    g.cu_seqlens = p.add_input("cu_seqlens", {DType::i32, {2}});
    const bool two_sides = family_of(config).encoder != nullptr;
    if (two_sides) {
      g.encoder_ids = p.add_input("encoder_ids", {DType::i32, {4}});
      g.encoder_positions = p.add_input("encoder_positions", {DType::i32, {4}});
      g.encoder_cu_seqlens = p.add_input("encoder_cu_seqlens", {DType::i32, {2}});
    }
    add_model_states(g, false);
    if (two_sides) g.encode(family_of(config).encoder);
    p.outputs.push_back({"hidden", family_of(config).body(g)});
    std::vector<Program> programs;
    programs.push_back(std::move(p));
    Result<Session> s = Session::compile(std::move(programs), reference_backend());
    EXPECT_TRUE(s.ok()) << s.error().text();
    EXPECT_TRUE(s->allocate().ok());
    return std::move(*s);
  }

  TemporaryFolder temporary_;
  const std::string folder_ = temporary_.path;
};

std::vector<std::byte> bytes_of(const Session& s, const std::string& state) {
  return s.state_values<std::byte>(state);
}

template <class T>
T must(Result<T> r) {
  if (!r.ok()) throw std::runtime_error(r.error().text());
  return std::move(r).value();
}

TEST_F(PretrainedTest, KeepsTheTaskThatItWasTrainedOn) {
  Pretrained model = must(open_pretrained(kModels + "t5_tiny", kNoTokenizer));
  EXPECT_TRUE(model.trained.settings.empty());
  model.trained = {"summarization", {{"source_prefix", "sum: "}, {"max_source_length", 9}}};
  model.trained.params_key = "summarization";
  model.trained.params = {{"prefix", "sum: "}, {"num_beams", 2}};
  ASSERT_TRUE(save_model_files(folder_, model, DType::f32).ok());
  const TrainedTask again = must(open_trained_task(folder_));
  EXPECT_EQ(again.task, "summarization");
  EXPECT_EQ(again.text("source_prefix"), "sum: ");
  EXPECT_EQ(again.number("max_source_length"), 9);
  const auto config = must(parse_json(must(read_file(folder_ + "/config.json")), "config.json"));
  EXPECT_EQ(config["task_specific_params"]["summarization"], model.trained.params);
  model.trained.settings.clear();  // trained again, on a task that has none
  ASSERT_TRUE(save_model_files(folder_, model, DType::f32).ok());
  EXPECT_EQ(must(open_trained_task(folder_)).task, "summarization");
  EXPECT_TRUE(must(open_trained_task(folder_)).settings.empty());
  model.trained.columns = {"question", "sentence"};
  ASSERT_TRUE(save_model_files(folder_, model, DType::f32).ok());
  EXPECT_EQ(must(open_trained_task(folder_)).columns, model.trained.columns);
  model.trained = {};
  ASSERT_TRUE(save_model_files(folder_, model, DType::f32).ok());
  EXPECT_EQ(must(open_trained_task(folder_)).task, "");
}

TEST_F(PretrainedTest, EveryFamilyComesBackAsItWasSaved) {
  for (const auto& entry : fs::directory_iterator(kModels)) {
    const std::string name = entry.path().filename().string();
    SCOPED_TRACE(name);
    const Pretrained model = must(open_pretrained(entry.path().string(), kNoTokenizer));
    Session first = session(model.config);
    std::vector<std::string> unused;
    must(load_weights(first, model, &unused));
    EXPECT_TRUE(unused.empty()) << fmt::format("{}", fmt::join(unused, " "));

    const std::string saved = folder_ + "/" + name;
    must(save_pretrained(saved, *model.weights, model));
    const Pretrained again = must(open_pretrained(saved, kNoTokenizer));
    EXPECT_EQ(again.config.config, model.config.config);
    EXPECT_EQ(again.generation_config, model.generation_config);
    Session second = session(again.config);
    must(load_weights(second, again));
    for (const StateSlot& slot : first.plan().states) {
      const auto a = bytes_of(first, slot.name), b = bytes_of(second, slot.name);
      EXPECT_TRUE(std::equal(a.begin(), a.end(), b.begin(), b.end())) << slot.name;
    }
    // Transformers wrote the golden file: the same bytes.
    EXPECT_EQ(must(read_file(saved + "/model.safetensors")),
              must(read_file(entry.path().string() + "/model.safetensors")));
  }
}

TEST_F(PretrainedTest, ConversionKeepsValuesAndNamesItsType) {
  const Pretrained model = must(open_pretrained(kModels + "gpt2_tiny", kNoTokenizer));
  must(save_pretrained(folder_ + "/half", *model.weights, model, DType::bf16));
  const Pretrained half = must(open_pretrained(folder_ + "/half", kNoTokenizer));
  EXPECT_EQ(half.config.config["dtype"], "bfloat16");
  EXPECT_EQ(half.weights->tensors().front().type.dtype, DType::bf16);
  must(save_pretrained(folder_ + "/same", *model.weights, model));
  EXPECT_EQ(must(read_file(folder_ + "/same/model.safetensors")),
            must(read_file(kModels + "gpt2_tiny/model.safetensors")));
}

TEST_F(PretrainedTest, OlderNamesAndTheOtherNameOfATieAreFound) {
  const Pretrained model = must(open_pretrained(kModels + "gpt2_tiny", kNoTokenizer));
  std::vector<std::vector<std::byte>> bytes;
  std::vector<TensorData> tensors;
  for (const TensorInfo& t : model.weights->tensors()) {
    bytes.emplace_back(static_cast<size_t>(t.type.bytes()));
    must(model.weights->read(t.name, DType::f32, bytes.back()));
    const bool token_table = t.name == "transformer.wte.weight";
    tensors.push_back({token_table ? "lm_head.weight" : t.name.substr(12), t.type, {}, {}});
  }
  const std::vector<float> mask(4);
  tensors.push_back({"h.0.attn.bias", {DType::f32, {4}}, std::as_bytes(std::span(mask)), {}});
  tensors.push_back({"score.weight", {DType::f32, {4}}, std::as_bytes(std::span(mask)), {}});
  for (size_t i = 0; i < bytes.size(); ++i) tensors[i].bytes = bytes[i];
  must(save_safetensors(folder_, "model", tensors));
  fs::copy(kModels + "gpt2_tiny/config.json", folder_ + "/config.json");

  const Pretrained older = must(open_pretrained(folder_, kNoTokenizer));
  Session a = session(model.config), b = session(model.config);
  must(load_weights(a, model));
  std::vector<std::string> unused;
  must(load_weights(b, older, &unused));
  EXPECT_EQ(unused, std::vector<std::string>{"score.weight"});
  for (const StateSlot& slot : a.plan().states) {
    const auto x = bytes_of(a, slot.name), y = bytes_of(b, slot.name);
    EXPECT_TRUE(std::equal(x.begin(), x.end(), y.begin(), y.end())) << slot.name;
  }
}

// Writes the model's weights with other names or values, and its config.
template <class Change>
void write_changed(const std::string& from, const std::string& to, const Change& change) {
  const Pretrained model = must(open_pretrained(from, kNoTokenizer));
  std::vector<std::vector<float>> values;
  std::vector<TensorData> tensors;
  for (const TensorInfo& t : model.weights->tensors()) {
    values.emplace_back(static_cast<size_t>(t.type.count()));
    must(model.weights->read(t.name, DType::f32, std::as_writable_bytes(std::span(values.back()))));
    tensors.push_back({t.name, t.type, {}, {}});
  }
  change(tensors, values);
  for (size_t i = 0; i < values.size(); ++i) tensors[i].bytes = std::as_bytes(std::span(values[i]));
  must(file_store().make_dirs(to));
  must(save_safetensors(to, "model", tensors));
  if (path_exists(from + "/config.json"))
    fs::copy(from + "/config.json", to + "/config.json", fs::copy_options::overwrite_existing);
}

TEST_F(PretrainedTest, WrappersAreTakenOffTheNames) {
  const std::string from = kModels + "llama_tied_tiny";
  const Pretrained model = must(open_pretrained(from, kNoTokenizer));
  for (const char* wrapper :
       {"module.", "_orig_mod.", "_forward_module.", "model.", "module._orig_mod.",
        "_forward_module.model.", "model.model.", "model.module."}) {
    SCOPED_TRACE(wrapper);
    const std::string to = fmt::format("{}/{}", folder_, wrapper);
    write_changed(from, to, [&](std::vector<TensorData>& tensors, const auto&) {
      for (TensorData& t : tensors) t.name = wrapper + t.name;
    });
    const Pretrained wrapped = must(open_pretrained(to, kNoTokenizer));
    Session a = session(model.config), b = session(wrapped.config);
    must(load_weights(a, model));
    std::vector<std::string> unused;
    must(load_weights(b, wrapped, &unused));
    EXPECT_TRUE(unused.empty());
    for (const StateSlot& slot : a.plan().states)
      EXPECT_EQ(bytes_of(a, slot.name), bytes_of(b, slot.name)) << slot.name;
  }
  EXPECT_EQ(without_wrappers("module.model.layers.0._checkpoint_wrapped_module.mlp.up_proj.weight"),
            "model.layers.0.mlp.up_proj.weight");
  EXPECT_EQ(without_wrappers("my_module.weight"), "my_module.weight");
}

// As Transformers 5: a head of the file's own is kept, whatever the config says of ties.
TEST_F(PretrainedTest, AHeadThatDiffersFromATiedEmbeddingIsKept) {
  struct Case {
    const char *model, *embedding, *head;
  };
  for (const Case& c : {Case{"llama_tied_tiny", "model.embed_tokens.weight", "lm_head.weight"},
                        Case{"gpt2_tiny", "transformer.wte.weight", "lm_head.weight"},
                        Case{"bart_tiny", "model.shared.weight", "lm_head.weight"}}) {
    SCOPED_TRACE(c.model);
    for (const bool differs : {false, true}) {
      const std::string to = fmt::format("{}/{}{}", folder_, c.model, differs);
      std::vector<float> head;
      write_changed(kModels + c.model, to, [&](auto& tensors, auto& values) {
        for (size_t i = 0; i < tensors.size(); ++i)
          if (tensors[i].name == c.embedding) {
            head = values[i];
            if (differs) head.back() += 1;
            tensors.push_back({c.head, tensors[i].type, {}, {}});
            values.push_back(head);
            break;
          }
      });
      const Pretrained model = must(open_pretrained(to, kNoTokenizer));
      EXPECT_EQ(model.config.tied, !differs);
      if (!differs) continue;
      must(save_pretrained(to + "/saved", *model.weights, model));
      const Pretrained again = must(open_pretrained(to + "/saved", kNoTokenizer));
      EXPECT_EQ(again.config.config["tie_word_embeddings"], false);
      std::vector<float> read(head.size());
      must(again.weights->read(c.head, DType::f32, std::as_writable_bytes(std::span(read))));
      EXPECT_EQ(read, head);
      EXPECT_TRUE(check_weights(*again.weights, again.config).ok());
    }
  }
}

// An adapter that was made after the embeddings were resized, as PEFT saves it: they are whole in
// its file, and replace the model's.
TEST_F(PretrainedTest, AnAdapterBringsResizedEmbeddings) {
  const std::string base = kModels + "llama_untied_tiny",
                    adapter = kModels + "../adapters/llama_lora", to = folder_ + "/resized";
  const Pretrained model = must(open_pretrained(base, kNoTokenizer));
  const int64_t vocab = model.config.vocab + 8, width = model.config.hidden;
  std::vector<float> table(static_cast<size_t>(vocab * width), 0.25f), head(table.size(), -0.5f);
  OpenOptions with = kNoTokenizer;
  with.adapter_name = adapter;
  const Pretrained plain = must(open_pretrained(base, with));
  std::vector<std::vector<float>> values;
  std::vector<TensorData> tensors;
  for (const TensorInfo& t : plain.adapter->tensors()) {
    values.emplace_back(static_cast<size_t>(t.type.count()));
    must(plain.adapter->read(t.name, DType::f32, std::as_writable_bytes(std::span(values.back()))));
    tensors.push_back({t.name, t.type, {}, {}});
  }
  for (const auto& [name, x] :
       {std::pair{"model.embed_tokens.weight", &table}, {"lm_head.weight", &head}}) {
    tensors.push_back({std::string(kAdapterPrefix) + name, {DType::f32, {vocab, width}}, {}, {}});
    values.push_back(*x);
  }
  for (size_t i = 0; i < values.size(); ++i) tensors[i].bytes = std::as_bytes(std::span(values[i]));
  must(file_store().make_dirs(to));
  must(save_safetensors(to, kAdapterStem, tensors));
  fs::copy(adapter + "/adapter_config.json", to + "/adapter_config.json");

  with.adapter_name = to;
  Pretrained resized = must(open_pretrained(base, with));
  EXPECT_EQ(resized.config.vocab, vocab);
  EXPECT_TRUE(check_adapter(resized.config).ok());
  Session s = session(resized.config);
  must(load_weights(s, resized));
  const std::string state = std::string(kAdapterPrefix) + "model.embed_tokens.weight";
  EXPECT_EQ(s.state_values<float>(state), table);
  for (const ParamSpec& spec : family_of(resized.config).params(resized.config))
    if (spec.name == state) {
      EXPECT_TRUE(spec.of_adapter() && !spec.is_trained());
    }
  must(merge_adapter(resized));
  std::vector<float> read(head.size());
  must(
      resized.weights->read("lm_head.weight", DType::f32, std::as_writable_bytes(std::span(read))));
  EXPECT_EQ(read, head);
}

// Weights that Transformers itself initializes if a checkpoint lacks them, and names of the bare
// model.
TEST_F(PretrainedTest, EncoderDecodersOpenWithoutWhatIsMadeAnew) {
  for (const char* name : {"bart_tiny", "pegasus_tiny", "marian_tiny"}) {
    SCOPED_TRACE(name);
    const Pretrained model = must(open_pretrained(kModels + name, kNoTokenizer));
    std::vector<std::vector<std::byte>> bytes;
    std::vector<TensorData> tensors;
    for (const TensorInfo& t : model.weights->tensors()) {
      if (t.name == "final_logits_bias") continue;
      if (name == std::string_view("pegasus_tiny") && t.name.ends_with("embed_positions.weight"))
        continue;
      bytes.emplace_back(static_cast<size_t>(t.type.bytes()));
      must(model.weights->read(t.name, DType::f32, bytes.back()));
      tensors.push_back(
          {t.name == "model.shared.weight" ? "encoder.embed_tokens.weight" : t.name.substr(6),
           t.type,
           {},
           {}});
    }
    for (size_t i = 0; i < bytes.size(); ++i) tensors[i].bytes = bytes[i];
    const std::string bare = folder_ + "/" + name;
    fs::create_directory(bare);
    must(save_safetensors(bare, "model", tensors));
    fs::copy(kModels + name + "/config.json", bare + "/config.json");

    const Pretrained older = must(open_pretrained(bare, kNoTokenizer));
    Session a = session(model.config), b = session(model.config);
    must(load_weights(a, model));
    std::vector<std::string> unused;
    must(load_weights(b, older, &unused));
    EXPECT_TRUE(unused.empty()) << fmt::format("{}", fmt::join(unused, " "));
    for (const StateSlot& slot : a.plan().states) {
      const auto x = bytes_of(a, slot.name), y = bytes_of(b, slot.name);
      if (slot.name == "final_logits_bias") {
        EXPECT_TRUE(std::all_of(y.begin(), y.end(), [](std::byte v) { return v == std::byte{}; }));
        continue;
      }
      EXPECT_TRUE(std::equal(x.begin(), x.end(), y.begin(), y.end())) << slot.name;
    }
  }
}

TEST_F(PretrainedTest, QuantizedValuesAreOffByHalfAStep) {
  const int64_t rows = 7, columns = 33;
  std::vector<float> x(static_cast<size_t>(rows * columns));
  PhiloxStream random(dropout_key(1, 2, 3));
  for (float& v : x) v = static_cast<float>(random.next_normal());
  for (size_t j = 0; j < 33; ++j) x[2 * 33 + j] = 0;  // a row without a scale
  x[5] = std::numeric_limits<float>::quiet_NaN();
  for (const bool by_rows : {true, false}) {
    std::vector<int8_t> q(x.size());
    std::vector<float> scales(static_cast<size_t>(by_rows ? rows : columns));
    quantize_absmax(x, columns, by_rows, q.data(), scales);
    for (size_t i = 0; i < x.size(); ++i) {
      const float scale = scales[by_rows ? i / 33 : i % 33];
      if (i == 5)
        EXPECT_EQ(q[i], 0);
      else
        EXPECT_LE(std::fabs(static_cast<float>(q[i]) * scale - x[i]), scale * 0.5001f) << i;
    }
  }
}

TEST_F(PretrainedTest, ErrorsNameTheWeight) {
  fs::copy(kModels + "gpt2_tiny/model.safetensors", folder_ + "/model.safetensors");
  nlohmann::json config = must(load_config(kModels + "gpt2_tiny"));
  const auto opened_with = [&](const char* key, int64_t value) {
    nlohmann::json changed = config;
    changed[key] = value;
    must(file_store().write(folder_ + "/config.json", changed.dump()));
    Pretrained model = must(open_pretrained(folder_, kNoTokenizer));
    Session s = session(model.config);
    return load_weights(s, model);
  };
  const Status missing = opened_with("n_layer", 3);
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().code(), std::string(err::kWeightMissing.id));
  EXPECT_NE(missing.error().text().find("transformer.h.2."), std::string::npos)
      << missing.error().text();
  const Status shape = opened_with("vocab_size", 64);
  ASSERT_FALSE(shape.ok());
  EXPECT_EQ(shape.error().code(), std::string(err::kWeightShape.id));
  EXPECT_NE(shape.error().text().find("[61,16]"), std::string::npos) << shape.error().text();
}

TEST_F(PretrainedTest, InitialWeightsDependOnSeedAndNameAlone) {
  const ModelConfig config = must(open_pretrained(kModels + "gpt2_tiny", kNoTokenizer)).config;
  Session a = session(config), b = session(config), c = session(config);
  EXPECT_TRUE(init_weights(a, config, 1).ok());
  EXPECT_TRUE(init_weights(b, config, 1).ok());
  EXPECT_TRUE(init_weights(c, config, 2).ok());
  const auto table = [](Session& s) { return s.state_values<float>("transformer.wte.weight"); };
  EXPECT_EQ(table(a), table(b));
  EXPECT_NE(table(a), table(c));
  double squares = 0;
  for (const float v : table(a)) squares += static_cast<double>(v) * v;
  EXPECT_NEAR(std::sqrt(squares / static_cast<double>(table(a).size())), 0.02, 0.002);
  EXPECT_EQ(a.state_values<float>("transformer.ln_f.weight")[0], 1.0f);
}

const std::string kEncoders = std::string(HONE_SOURCE_DIR) + "/tests/goldens/encoders/";

std::vector<float> values(Session& s, const std::string& name) {
  return s.state_values<float>(name);
}

TEST_F(PretrainedTest, AnEncoderGetsANewHead) {
  Pretrained model = must(open_pretrained(kEncoders + "bert_masked_lm", kNoTokenizer));
  ASSERT_TRUE(set_head(model.config, Head::sequence_classification, 4).ok());
  Session s = session(model.config);
  const Error untrained = load_weights(s, model).error();
  EXPECT_EQ(untrained.code(), std::string(err::kWeightMissing.id));
  EXPECT_NE(untrained.text().find("no trained head 'sequence_classification'"), std::string::npos)
      << untrained.text();
  const auto named = missing_head(*model.weights, model.config, "--task classification");
  ASSERT_TRUE(named.has_value());
  EXPECT_NE(named->text().find("(hone train --task classification --model_name_or_path ...)"),
            std::string::npos)
      << named->text();

  NewHead head{.seed = 7};
  std::vector<std::string> unused;
  ASSERT_TRUE(load_weights(s, model, &unused, &head).ok());
  EXPECT_EQ(head.names,
            (std::vector<std::string>{"bert.pooler.dense.weight", "bert.pooler.dense.bias",
                                      "classifier.weight", "classifier.bias"}));
  EXPECT_EQ(new_weights_text(model, head),
            "Some weights of BertForSequenceClassification were not initialized from the model "
            "checkpoint at " +
                kEncoders +
                "bert_masked_lm and are newly initialized: ['bert.pooler.dense.bias', "
                "'bert.pooler.dense.weight', 'classifier.bias', 'classifier.weight']\nYou should "
                "probably TRAIN this model on a down-stream task to be able to use it for "
                "predictions and inference.");
  EXPECT_EQ(unused.size(), 5u);  // the bias and the transform of cls.predictions
  const std::vector<float> classifier = values(s, "classifier.weight");
  double squares = 0;
  for (const float v : classifier) squares += static_cast<double>(v) * v;
  EXPECT_NEAR(std::sqrt(squares / static_cast<double>(classifier.size())), 0.02, 0.006);
  EXPECT_EQ(values(s, "classifier.bias"), std::vector<float>(4, 0.0f));

  // The same weights as those of a model from scratch with this seed; its files name its class.
  Session fresh = session(model.config);
  EXPECT_TRUE(init_weights(fresh, model.config, 7).ok());
  EXPECT_EQ(values(fresh, "classifier.weight"), classifier);
  ASSERT_TRUE(save_model_files(folder_, model, DType::f32).ok());
  EXPECT_EQ(must(read_json_file(folder_ + "/config.json"))["architectures"],
            nlohmann::json::array({"BertForSequenceClassification"}));
}

TEST_F(PretrainedTest, LabelsOfAnotherNumberNeedAReplacedHead) {
  Pretrained model =
      must(open_pretrained(kEncoders + "roberta_sequence_classification", kNoTokenizer));
  EXPECT_EQ(model.config.labels, 3);
  ASSERT_TRUE(set_head(model.config, Head::sequence_classification, 2).ok());
  Session s = session(model.config);
  NewHead head;
  EXPECT_EQ(load_weights(s, model, nullptr, &head).error().code(),
            std::string(err::kWeightShape.id));
  NewHead replaced{.replace_other_sizes = true};
  ASSERT_TRUE(load_weights(s, model, nullptr, &replaced).ok());
  EXPECT_EQ(replaced.names,
            (std::vector<std::string>{"classifier.out_proj.weight", "classifier.out_proj.bias"}));
}

// Checkpoints of the body alone (BertModel) name their weights without "bert.".
TEST_F(PretrainedTest, ABareEncoderIsReadAndWritten) {
  Pretrained model = must(open_pretrained(kEncoders + "bert_sequence_classification",
                                          {.need_tokenizer = false, .head = Head::none}));
  ASSERT_TRUE(save_pretrained(folder_, *model.weights, model).ok());
  const Pretrained bare = must(open_pretrained(folder_, kNoTokenizer));
  EXPECT_EQ(bare.config.head, Head::none);
  EXPECT_NE(bare.weights->find("embeddings.LayerNorm.weight"), nullptr);
  EXPECT_NE(bare.weights->find("pooler.dense.weight"), nullptr);
  EXPECT_EQ(bare.weights->find("classifier.weight"), nullptr);

  Pretrained masked =
      must(open_pretrained(folder_, {.need_tokenizer = false, .head = Head::masked_lm}));
  Session s = session(masked.config);
  NewHead head;
  std::vector<std::string> unused;
  ASSERT_TRUE(load_weights(s, masked, &unused, &head).ok());
  EXPECT_EQ(head.names.front(), "cls.predictions.bias");
  EXPECT_EQ(unused, (std::vector<std::string>{"pooler.dense.bias", "pooler.dense.weight"}));
  EXPECT_EQ(architecture_of(masked.config), "BertForMaskedLM");
}

TEST_F(PretrainedTest, ACommandSaysWhichHeadItNeeds) {
  const Result<Pretrained> opened = open_pretrained(
      kEncoders + "bert_masked_lm", {.need_tokenizer = false, .head = Head::causal_lm});
  ASSERT_FALSE(opened.ok());
  EXPECT_NE(opened.error().text().find("have no head 'causal_lm'"), std::string::npos)
      << opened.error().text();
}

TEST_F(PretrainedTest, ATokenizerBeyondTheVocabularyIsRefused) {
  fs::copy(kModels + "gpt2_tiny", folder_ + "/model");
  fs::copy(std::string(HONE_SOURCE_DIR) + "/tests/goldens/tiny_text_gpt2/tokenizer.json",
           folder_ + "/model/tokenizer.json");
  const Result<Pretrained> opened = open_pretrained(folder_ + "/model");
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.error().code(), std::string(err::kVocabularyLarger.id)) << opened.error().text();
}

// As resize_token_embeddings(..., pad_to_multiple_of=64): new rows are near the mean of the old ones.
TEST_F(PretrainedTest, EmbeddingsGrowToTheTokenizer) {
  const std::string to = folder_ + "/model";
  fs::copy(kModels + "llama_untied_tiny", to);
  fs::copy(std::string(HONE_SOURCE_DIR) + "/tests/goldens/tiny_text_gpt2/tokenizer.json",
           to + "/tokenizer.json");
  const Pretrained old = must(open_pretrained(to, kNoTokenizer));
  const Pretrained grown =
      must(open_pretrained(to, {.resize_embeddings = true, .vocabulary_multiple = 64}));
  const int64_t ids = grown.tokenizer->id_limit(), vocab = (ids + 63) / 64 * 64;
  ASSERT_GT(ids, old.config.vocab);
  EXPECT_EQ(grown.config.vocab, vocab);
  EXPECT_EQ(grown.config.config["vocab_size"], vocab);
  must(check_weights(*grown.weights, grown.config));
  const auto columns = static_cast<size_t>(grown.config.hidden);
  for (const char* name : {"model.embed_tokens.weight", "lm_head.weight"}) {
    SCOPED_TRACE(name);
    std::vector<float> a(static_cast<size_t>(old.weights->find(name)->type.count())),
        b(static_cast<size_t>(grown.weights->find(name)->type.count()));
    must(old.weights->read(name, DType::f32, std::as_writable_bytes(std::span(a))));
    must(grown.weights->read(name, DType::f32, std::as_writable_bytes(std::span(b))));
    EXPECT_TRUE(std::equal(a.begin(), a.end(), b.begin()));
    std::vector<double> mean(columns);
    for (size_t i = 0; i < a.size(); ++i)
      mean[i % columns] += static_cast<double>(a[i]) / static_cast<double>(a.size() / columns);
    bool some_noise = false;
    for (size_t i = a.size(); i < b.size(); ++i) {
      EXPECT_NEAR(b[i], mean[i % columns], 1e-4);
      some_noise = some_noise || b[i] != static_cast<float>(mean[i % columns]);
    }
    EXPECT_TRUE(some_noise);
  }
  must(save_pretrained(folder_ + "/saved", *grown.weights, grown));
  EXPECT_EQ(must(open_pretrained(folder_ + "/saved")).config.vocab, vocab);
}

TEST(OpenTokenizer, ReadsTheSentencePieceVocabularyOfGguf) {
  const char* set = std::getenv("HONE_DATA");
  const fs::path data = set ? fs::path(set) : fs::path(HONE_SOURCE_DIR) / "../shared/data";
  const fs::path file = data / "tok-gguf/ggml-vocab-llama-spm.gguf";
  if (!fs::exists(file)) GTEST_SKIP() << "no tok-gguf in HONE_DATA " << data;
  const Tokenizer t = must(open_tokenizer(file.string(), {}));
  const auto read = [](const fs::path& path) {
    std::ifstream in(path, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(in), {});
  };
  const std::string inputs = read(data / "tok-gguf/inputs.inp");
  const std::string separator = "\n__ggml_vocab_test__\n";
  std::istringstream lines(read(file.string() + ".out"));
  std::string line;
  int texts = 0;
  for (size_t at = 0; at <= inputs.size() && std::getline(lines, line); ++texts) {
    const size_t stop = std::min(inputs.find(separator, at), inputs.size());
    const std::string text = inputs.substr(at, stop - at);
    at = stop + separator.size();
    std::istringstream row(line);
    const std::vector<int32_t> ids{std::istream_iterator<int32_t>(row), {}};
    EXPECT_EQ(t.encode(text, {.add_special_tokens = false}), ids) << text;
  }
  EXPECT_EQ(texts, 46);
}

}  // namespace
}  // namespace hone
