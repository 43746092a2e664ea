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
  // A config.json, its folder or a hub name, used in place of the model's config.json; "": the model's own.
  std::string config_name = {};
  // If neither a model nor config_name is given: makes a new model of this type ("gpt2") from the type's usual config,
  // changed by config_overrides ("n_embd=64,n_layer=2"). See usual_config() in models/family.h.
  std::string model_type = {};
  std::string config_overrides = {};
  std::string tokenizer_name = {};  // folder or hub name of another tokenizer; "": the model's own
  std::string revision = "main";    // branch, tag or commit on the hub
  std::string cache_dir = {};       // of files from the hub; "": the standard folder
  std::string token = {};           // access token of the hub; "": the variable HF_TOKEN
  bool need_weights = true;         // false: reads config.json alone, for example to plan memory
  bool need_tokenizer = true;       // false: a missing tokenizer is not an error
  std::optional<Head> head = {};    // the head that the model gets; none: the one in config.json
  // A trained adapter to open: a folder in PEFT's form or a hub name; "": none.
  std::string adapter_name = {};
  // A new adapter to train, read only if adapter_name is ""; null: none.
  std::shared_ptr<const Adapter> adapter = {};
  // The form of the frozen linear layers. A checkpoint that is quantized by bitsandbytes keeps its own form; a request
  // for another one is H0211. Null: floats, with one exception: beside an adapter, matrices of a GGUF file and experts
  // in MXFP4 stay quantized as in the file.
  std::shared_ptr<const Quantization> quantization = {};
  bool writes_text = false;  // true: the head is causal_lm, or seq2seq_lm for an encoder-decoder
  // Used if the tokenizer has more tokens than the model. true: the embeddings grow to the size of the tokenizer,
  // rounded up to a multiple of `vocabulary_multiple`. false: H2283, unless need_tokenizer is false.
  bool resize_embeddings = false;
  int64_t vocabulary_multiple = 1;
};

// The quantization that a command's settings ask for (learn/train/quantization.def); null: none.
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

// Options from the settings of a command: the settings of base/store/hub_settings.def, and config_name,
// tokenizer_name, adapter_name_or_path and the quantization if the command has such settings.
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
  std::string name;  // as the user typed it; a new model: its model type
  std::string path;  // the local folder or file of that name; "": a new model without files
  ModelConfig config;
  nlohmann::json generation_config = nlohmann::json::object();  // generation_config.json; {}: none
  // hone_task.json of the adapter's folder if an adapter was opened, else of the model's folder.
  TrainedTask trained;
  std::unique_ptr<WeightSource> weights;  // null: not requested, or a new model
  std::unique_ptr<WeightSource> adapter;  // weights of config.adapter; null: none, or a new adapter
  std::optional<Tokenizer> tokenizer;     // none: the model has none, or reads images
  // The larger model, such as a vision-language model, whose text model this is; none: the model is complete.
  std::optional<WholeModel> whole;
  // Names of the weights that got new entries because the vocabulary has grown.
  std::vector<std::string> resized = {};
};

// Opens `name`: a folder, a file of weights (learn/checkpoint) or a hub name. If the folder has an adapter and no
// model, opens the base model with this adapter. "": a new model by options.config_name or options.model_type. Reads
// the parts that the options request; the weights' values are read later (load_weights). Errors name the file or hub
// name and what is missing: H2210 config.json is missing, or a JSON file is not an object; H2301, H2302, H2303 its
// model is not supported or not valid; H2304 its family lacks the head; H2285 its quantization is not supported; H2305
// the adapter does not fit; those of the hub, of open_weights() and of load_tokenizer(). H0211, H2283: see OpenOptions.
Result<Pretrained> open_pretrained(const std::string& name, const OpenOptions& options = {});

// Permits load_weights() to initialize weights of the head (ParamSpec::of_head) that the checkpoint lacks, such as a
// classifier's before the first fine-tuning.
struct NewHead {
  uint64_t seed = 0;  // of the random values
  // true: also replaces head weights of another shape, for example of a classifier with another number of labels.
  bool replace_other_sizes = false;
  std::vector<std::string> names = {};  // output: names of the weights that were initialized
};
// Transformers' warning that head.names were newly initialized; "" if there are none.
std::string new_weights_text(const Pretrained& model, const NewHead& head);

// Reads every weight that the session's programs use, and writes it into the session's states. A tied weight is read
// once; older names of a weight are found too. Values become the element type of the state: f32, or the type that the
// pass store_weights has chosen. Also fills the family's constant tables and the adapter's weights (load_adapter).
// H2281: weights are missing. H2282: weights have another shape. With a `head`, missing head weights are initialized
// instead. H2284: a value is not finite. `unused`: null, or receives the names of tensors that the model does not use.
Status load_weights(Session& session, const Pretrained& model,
                    std::vector<std::string>* unused = nullptr, NewHead* head = nullptr);

// Fills the states of config.adapter's weights from the adapter's file; a new adapter gets PEFT's initial values. Call
// it after the model's weights are in their states. Does nothing without an adapter. H2305: the file lacks a tensor,
// holds further ones, or has one of another shape.
Status load_adapter(Session& session, const Pretrained& model);
// Replaces model.weights by the merged weights W + scale B A, computed when they are read, and removes the adapter and
// the quantization from the config. Does nothing without an adapter. H2305: the adapter does not fit, or it adapts
// matrices of experts. H2281, H2282: as in load_weights().
Status merge_adapter(Pretrained& model);

// Fills only the family's constant tables, such as rotary frequencies.
void fill_constants(Session& session, const ModelConfig& config);
// Fills all weights with the family's random initialization, by `seed` and the weight's name (the Philox generator),
// and the constant tables. H1323: a disk that holds states fails.
Status init_weights(Session& session, const ModelConfig& config, uint64_t seed);

// Writes a folder as Transformers' save_pretrained does: config.json, generation_config.json, model.safetensors
// (shards of at most 5 GB) and the tokenizer files. `as`: the element type of the weights; none: the type of each
// weight in `weights`, f32 for quantized ones. `torch_file`: the name of a file in torch.save's format that holds the
// weights instead of model.safetensors; "": safetensors. H2281, H2282: `weights` lacks a weight, or it has another
// shape.
Status save_pretrained(const std::string& folder, const WeightSource& weights,
                       const Pretrained& model, std::optional<DType> as = {},
                       const std::string& torch_file = "");
// Writes only the weights, as a state dict into one file in torch.save's format. Its folder must exist. `as` and
// errors as in save_pretrained().
Status save_torch_weights(const std::string& path, const WeightSource& weights,
                          const Pretrained& model, std::optional<DType> as = {});
// The values of `outtype` for save_gguf(): "f32", "q8_0", ...
std::vector<std::string> gguf_outtypes();
// Writes weights, config and tokenizer into one GGUF file that llama.cpp reads. H2209: GGUF has no form for the model.
// H2004: GGUF has no form for its tokenizer.
Status save_gguf(const std::string& path, const WeightSource& weights, const Pretrained& model,
                 const std::string& outtype);
// Writes the files without weights: config.json, generation_config.json, hone_task.json and the tokenizer files. For a
// model with an adapter, adapter_config.json replaces config.json, and generation_config.json is written only if
// model.trained has settings. `dtype`: the value of "dtype" in config.json. `in_blocks`: the weights in the folder are
// quantized; false: quantization_config is removed from config.json.
Status save_model_files(const std::string& folder, const Pretrained& model, DType dtype,
                        bool in_blocks = false);

}  // namespace hone
