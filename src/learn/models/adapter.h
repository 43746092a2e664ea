// The settings of a LoRA adapter (arXiv 2106.09685). For a frozen linear layer with the weight W [out,in], two small
// matrices A [r,in] and B [out,r] are trained, and the layer computes x W^T + scale dropout(x) A^T B^T. Names, rules
// and adapter_config.json follow PEFT's LoraConfig.
// DoRA (arXiv 2402.09353) also trains a vector m [out], which has the length of each row of the weight. The weight is W
// + scale B A, with each row divided by its norm and multiplied by the row's element of m. As in PEFT, dropout then
// also applies to the input of W.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace hone {

struct ModelConfig;

// The prefix of all names in PEFT's adapter files: the path of the model inside PeftModel and LoraModel.
inline constexpr const char* kAdapterPrefix = "base_model.model.";
// The modules that PEFT always trains in full if the head classifies sequences, tokens or choices.
inline constexpr const char* kClassifierModules[] = {"classifier", "score"};
// The module that PEFT always trains in full if the head answers questions.
inline constexpr const char* kAnswerModule = "qa_outputs";
// Whether `part` is one of the dotted parts of the name, or several successive ones: "classifier.dense.weight" has
// "classifier" and "classifier.dense".
bool names_part(const std::string& name, const std::string& part);

struct Adapter {
  int64_t r = 8;                  // rank
  double alpha = 8, dropout = 0;  // alpha: scale = alpha / r. dropout: its probability
  // ranks, alphas: exceptions from r and alpha for some layers. Each is a pair (regular expression for the last parts
  // of a layer's name, value). The first expression that matches a layer counts.
  using Patterns = std::vector<std::pair<std::string, double>>;
  Patterns ranks = {}, alphas = {};
  bool dora = false;
  bool rslora = false;  // true: scale = alpha / sqrt(r), arXiv 2312.03732
  // The linear layers that get an adapter. `targets`: their whole names, or the last parts of their names. If `targets`
  // is empty, `pattern` chooses the layers: a regular expression for whole names, or kAllLinear. If both are empty,
  // ModelConfig::adapted does.
  std::vector<std::string> targets = {};
  std::string pattern = {};
  // Stacked matrices of experts in which each expert gets an adapter, as PEFT's target_parameters: whole names, or the
  // last parts of names, such as "mlp.experts.down_proj". `ranks` and `alphas` are matched with the whole name.
  std::vector<std::string> parameters = {};
  // Modules that are trained in full (PEFT's modules_to_save), by any part of their names. kClassifierModules and
  // kAnswerModule are added by the head.
  std::vector<std::string> saved = {};
  // Weights of the model, by their whole names, that are stored in the adapter's file but not trained: embeddings that
  // have been resized.
  std::vector<std::string> kept = {};
  uint64_t seed = 0;  // of the random initial values of A
  // PiSSA (learn/pretrained/pissa.h); null: ordinary LoRA. Not null: A and B start from the layer's largest singular
  // values. When the weights are loaded, the initial values of these matrices are put here, by their names.
  std::shared_ptr<std::map<std::string, std::vector<float>>> first = nullptr;
  int64_t principal_turns = -1;  // PiSSA: number of power iterations; -1: exact singular values

  static constexpr const char* kAllLinear = "all-linear";  // `pattern`: all linear layers
  // If this is the only element of `targets`, no linear layer is adapted, only `parameters` are.
  static constexpr const char* kNoLayers = "none";

  int64_t rank_of(const std::string& layer) const;  // r, or its exception
  double scale_of(const std::string& layer) const;  // from alpha or its exception, and rank_of()
  // Whether the linear layer of this name gets an adapter.
  bool adapts(const ModelConfig& c, const std::string& layer) const;
  // Whether the stacked matrix of this name gets an adapter.
  bool adapts_parameter(const std::string& name) const;
  bool adapts_no_layers() const { return targets.size() == 1 && targets.front() == kNoLayers; }
  // Whether the weight belongs to a module that is trained in full.
  bool saves(const ModelConfig& c, const std::string& weight) const;
  bool keeps(const std::string& weight) const;  // whether it is in `kept`
};

}  // namespace hone
