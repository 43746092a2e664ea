// A pretrained model as a whole: config, weights, tokenizer. Opens files of Transformers and
// llama.cpp, and saves files that Transformers loads.
#pragma once

#include <memory>
#include <optional>

#include "engine/session/session.h"
#include "learn/checkpoint/safetensors/weight_source.h"
#include "learn/models/family.h"
#include "learn/pretrained/trained_task.h"
#include "learn/pretrained/whole_model.h"
#include "learn/tokenizers/tokenizer.h"

namespace hone {

struct OpenOptions {
  std::string config_name = {};  // another config.json or its folder; "": the model's own
  std::string model_type = {};   // without a model and a config: a new one of this type, and what
  std::string config_overrides =
      {};                           // differs from its usual config (models/family.h: usual_config)
  std::string tokenizer_name = {};  // another tokenizer's folder; "": the model's own
  std::string revision = "main";
  std::string cache_dir = {};     // "": the standard one
  std::string token = {};         // "": HF_TOKEN
  bool need_weights = true;       // false: config.json is enough (hone plan)
  bool need_tokenizer = true;     // false: opens a model without one too
  std::optional<Head> head = {};  // the required one; none: config.json's own
  // PEFT's folder of an adapter, or a hub name; "": none. Otherwise `adapter` is a new one to
  // train.
  std::string adapter_name = {};
  std::shared_ptr<const Adapter> adapter = {};
  // The form of linear layers. A bitsandbytes checkpoint's own form takes precedence; null: floats,
  // except that with an adapter they stay in the blocks of a GGUF file, and experts in MXFP4.
  std::shared_ptr<const Quantization> quantization = {};
  bool writes_text = false;  // the head is causal_lm, of encoder-decoders seq2seq_lm
  // Embeddings grow to a tokenizer with more tokens than the model, to a multiple of
  // `vocabulary_multiple`; false: such a tokenizer is refused if it is needed.
  bool resize_embeddings = false;
  int64_t vocabulary_multiple = 1;
};

// The quantization that the settings of learn/train/quantization.def ask for; null: none.
template <class Settings>
std::shared_ptr<const Quantization> quantization_of(const Settings& s) {
  Quantization q;
  bool eight = false;
  if constexpr (requires { s.quantize_in_8bit(); }) eight = s.quantize_in_8bit();
  if (!s.load_in_4bit && !eight) return nullptr;
  q.scheme = s.load_in_4bit ? s.bnb_4bit_quant_type : "int8";
  q.nested = s.load_in_4bit && s.use_bnb_nested_quant;
  q.bf16 = s.load_in_4bit && s.bnb_4bit_compute_dtype == "bfloat16";
  return std::make_shared<const Quantization>(std::move(q));
}

// Options from the settings of a command: those of base/store/hub_settings.def, and config_name and
// tokenizer_name if it has them.
template <class Settings>
OpenOptions open_options(const Settings& s) {
  OpenOptions o;
  o.revision = s.model_revision;
  o.cache_dir = s.cache_dir;
  o.token = s.token;
  if constexpr (requires { s.config_name; }) o.config_name = s.config_name;
  if constexpr (requires { s.tokenizer_name; }) o.tokenizer_name = s.tokenizer_name;
  if constexpr (requires { s.adapter_name_or_path; }) o.adapter_name = s.adapter_name_or_path;
  if constexpr (requires { s.bnb_4bit_quant_type; }) o.quantization = quantization_of(s);
  return o;
}

struct Pretrained {
  std::string name;  // as the user typed it
  std::string path;  // local folder or file it resolved to
  ModelConfig config;
  nlohmann::json generation_config = nlohmann::json::object();
  TrainedTask trained;                    // of the adapter, if it has one
  std::unique_ptr<WeightSource> weights;  // null if not requested
  std::unique_ptr<WeightSource> adapter;  // of config.adapter, unless it is a new one
  std::optional<Tokenizer> tokenizer;
  std::optional<WholeModel> whole;  // that the model is a part of; none: it is the folder's model
  std::vector<std::string> resized = {};  // weights with new entries, if the vocabulary has grown
};

// Resolves a folder, a file of weights (learn/checkpoint), or a hub name, and reads the requested
// parts. Errors name the file or hub name and what is missing.
Result<Pretrained> open_pretrained(const std::string& name, const OpenOptions& options = {});

// A head that a checkpoint may lack, such as an encoder's before its first fine-tuning.
struct NewHead {
  uint64_t seed = 0;                    // of the new weights
  bool replace_other_sizes = false;     // weights of another shape too: a classifier's labels
  std::vector<std::string> names = {};  // result: names of the new weights
};
// Transformers' message for it; "" if the head has no new weights.
std::string new_weights_text(const Pretrained& model, const NewHead& head);

// Reads every weight of the session's programs into its states (tied weights once, older names too;
// as f32, or in the form of the pass store_weights) and fills the family's constant tables and an
// adapter's trained weights. A missing weight or another shape is an Error with its name, except
// weights of the head (ParamSpec::of_head) if a NewHead is given; a value that is not finite is
// H2284. `unused`, if given, receives weights of the file that the model does not use.
Status load_weights(Session& session, const Pretrained& model,
                    std::vector<std::string>* unused = nullptr, NewHead* head = nullptr);

// Fills the trained weights of config.adapter, when the model's weights are in their states: from
// its file, or with PEFT's initial values. H2305: the file lacks a tensor or holds others. Does
// nothing without an adapter.
Status load_adapter(Session& session, const Pretrained& model);
// Merges the adapter into the weights, W + scale B A, and removes it.
Status merge_adapter(Pretrained& model);

// Fills only the constant tables, and random weights with the family's initialisation (Philox by
// seed and weight name); H1323: a disk fails.
void fill_constants(Session& session, const ModelConfig& config);
Status init_weights(Session& session, const ModelConfig& config, uint64_t seed);

// Writes config.json, generation_config.json, model.safetensors (sharded past 5 GB) and the
// tokenizer files into the folder, like Transformers' save_pretrained. The weights go into
// `torch_file`, if it is given, instead of safetensors.
Status save_pretrained(const std::string& folder, const WeightSource& weights,
                       const Pretrained& model, std::optional<DType> as = {},
                       const std::string& torch_file = "");
// Writes only the weights, in one file in the format of torch.save for a state dict; the folder
// must exist.
Status save_torch_weights(const std::string& path, const WeightSource& weights,
                          const Pretrained& model, std::optional<DType> as = {});
std::vector<std::string> gguf_outtypes();  // "f32", "q8_0", ...
// One GGUF file as llama.cpp reads it, tokenizer and all. H2209 when there is no such file for the
// model, H2004 when there is none for its tokenizer.
Status save_gguf(const std::string& path, const WeightSource& weights, const Pretrained& model,
                 const std::string& outtype);
// Writes only config.json, generation_config.json, hone_task.json and the tokenizer files; with an adapter
// its config instead of config.json, and generation_config.json if its task was trained here. `in_blocks`: weights
// beside them are in the blocks of the model's quantization_config, which the config keeps.
Status save_model_files(const std::string& folder, const Pretrained& model, DType dtype,
                        bool in_blocks = false);

}  // namespace hone
