// LoRA (arXiv 2106.09685): for a frozen linear layer with the weight W [out,in], two small matrices
// A [r,in] and B [out,r] are trained, and the layer gives x W^T + scale dropout(x) A^T B^T. Names,
// rules and adapter_config.json follow PEFT's LoraConfig.
// DoRA (arXiv 2402.09353) also trains a norm m [out] of each row: the weight is m times the rows of
// W + scale B A, each divided by its norm; dropout is before W there too.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace hone {

struct ModelConfig;

// In front of the names of PEFT's adapter files: the model inside PeftModel and LoraModel.
inline constexpr const char* kAdapterPrefix = "base_model.model.";
// PEFT adds these modules to those that are trained whole where a task classifies.
inline constexpr const char* kClassifierModules[] = {"classifier", "score"};
// And this one where answers are found.
inline constexpr const char* kAnswerModule = "qa_outputs";
// Whether `part` are whole parts of the dotted name: "classifier" of "classifier.dense.weight".
bool names_part(const std::string& name, const std::string& part);

struct Adapter {
  int64_t r = 8;
  double alpha = 8, dropout = 0;
  // Other values of r and alpha for layers: regular expressions for the last parts of their names.
  // The first that matches counts.
  using Patterns = std::vector<std::pair<std::string, double>>;
  Patterns ranks = {}, alphas = {};
  bool dora = false;
  bool rslora = false;  // scale alpha / sqrt(r), arXiv 2312.03732
  // Layers that get an adapter: whole names or their last parts. Empty: layers that match
  // `pattern`, a regular expression for whole names or kAllLinear; both empty: the usual ones of
  // the model's type.
  std::vector<std::string> targets = {};
  std::string pattern = {};
  // Stacked matrices of experts that get an adapter for each expert: whole names or their last parts, such as
  // "mlp.experts.down_proj", as in PEFT's target_parameters. The rank and the scale of one follow its whole name.
  std::vector<std::string> parameters = {};
  // Modules that are trained whole, by any part of their name; heads that classify always are.
  std::vector<std::string> saved = {};
  // Weights of the model, by their whole names, that are in the adapter's file and are not trained:
  // embeddings that have been resized.
  std::vector<std::string> kept = {};
  uint64_t seed = 0;  // of the first A
  // Not null: A and B begin with the layer's largest singular values (PiSSA, learn/pretrained/pissa.h), which are here
  // by the names of the matrices when the weights are loaded.
  std::shared_ptr<std::map<std::string, std::vector<float>>> first = nullptr;
  int64_t principal_turns = -1;  // of the iteration that finds them; -1: exactly

  static constexpr const char* kAllLinear = "all-linear";
  static constexpr const char* kNoLayers =
      "none";  // the only target: an adapter of `parameters` alone

  int64_t rank_of(const std::string& layer) const;
  double scale_of(const std::string& layer) const;
  bool adapts(const ModelConfig& c, const std::string& layer) const;
  bool adapts_parameter(const std::string& name) const;
  bool adapts_no_layers() const { return targets.size() == 1 && targets.front() == kNoLayers; }
  bool saves(const ModelConfig& c, const std::string& weight) const;
  bool keeps(const std::string& weight) const;
};

}  // namespace hone
