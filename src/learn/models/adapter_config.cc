#include "learn/models/adapter_config.h"

#include <algorithm>
#include <cmath>

#include "base/core/text.h"
#include "learn/models/errors.h"
#include "learn/models/experts.h"
#include "learn/models/layer_pattern.h"

namespace hone {
namespace {

constexpr std::string_view kFirstMatrix = ".lora_A.weight";

const char* task_type(const ModelConfig& c) {
  switch (c.head) {
    case Head::causal_lm:
      return "CAUSAL_LM";
    case Head::seq2seq_lm:
      return "SEQ_2_SEQ_LM";
    case Head::sequence_classification:
    case Head::multiple_choice:  // PEFT has no type of its own
      return "SEQ_CLS";
    case Head::token_classification:
      return "TOKEN_CLS";
    case Head::question_answering:
      return "QUESTION_ANS";
    default:
      return nullptr;
  }
}

Error bad(std::string what) { return Error(err::kBadAdapter, std::move(what)); }

// Keys that are read below, or change nothing that an adapter computes whatever their value.
constexpr const char* kAccepted[] = {"alpha_pattern",
                                     "auto_mapping",
                                     "base_model_name_or_path",
                                     "bias",
                                     "eva_config",
                                     "fan_in_fan_out",
                                     "inference_mode",
                                     "init_lora_weights",
                                     "lora_alpha",
                                     "lora_dropout",
                                     "megatron_core",
                                     "modules_to_save",
                                     "peft_type",
                                     "peft_version",
                                     "qalora_group_size",
                                     "r",
                                     "rank_pattern",
                                     "revision",
                                     "runtime_config",
                                     "target_modules",
                                     "target_parameters",
                                     "task_type",
                                     "use_dora",
                                     "use_rslora"};

// Any other key may change the result, unless its value turns it off.
Status refuse_other_keys(const OrderedJson& file) {
  for (const auto& [key, value] : file.items()) {
    if (std::find(std::begin(kAccepted), std::end(kAccepted), key) != std::end(kAccepted)) continue;
    if (value.is_null() || value == false || value.empty() || value == "") continue;
    return bad(fmt::format("adapter_config.json: '{}' is {}, which is not supported", key,
                           value.dump()))
        .todo(
            "make the adapter without it, or merge it into its model with PEFT's merge_and_unload");
  }
  return Ok{};
}

// First values that PEFT makes from the model's weights, which it changes when it loads the adapter.
Status check_first_values_of_file(const OrderedJson& file) {
  const OrderedJson first = file.value("init_lora_weights", OrderedJson(true));
  for (const OrderedJson& leaves_the_model :
       {OrderedJson(), OrderedJson(true), OrderedJson(false), OrderedJson("gaussian"),
        OrderedJson("orthogonal"), OrderedJson("eva")})
    if (first == leaves_the_model) return Ok{};
  return bad(fmt::format("adapter_config.json: 'init_lora_weights' is {}: the adapter belongs to "
                         "what PEFT leaves of the model after it has taken the first values out of "
                         "its weights",
                         first.dump()))
      .todo(
          "save it with PEFT's save_pretrained(..., path_initial_model_for_weight_conversion=...), "
          "which makes a LoRA adapter of the unchanged model; or save that changed model too, name "
          "it, and set init_lora_weights to true");
}

Status check_pattern(const std::string& pattern) {
  const auto fault = fault_of_pattern(pattern);
  if (!fault) return Ok{};
  return bad(fmt::format("'{}' is not a pattern for names of layers: {}", pattern, *fault))
      .todo("write the layers as a regular expression of Python, or as a list of names");
}

Status check_patterns(const Adapter& a) {
  if (!a.pattern.empty() && a.pattern != Adapter::kAllLinear) HONE_TRY(check_pattern(a.pattern));
  for (const auto& [pattern, rank] : a.ranks) {
    HONE_TRY(check_pattern(pattern));
    if (!(rank >= 1 && rank <= kLargestSize && rank == std::floor(rank)))
      return bad(fmt::format("the rank of '{}' is {}, a whole number is expected", pattern, rank));
  }
  for (const auto& [pattern, alpha] : a.alphas) HONE_TRY(check_pattern(pattern));
  return Ok{};
}

Result<Adapter::Patterns> patterns_of(const OrderedJson& file, const char* key) {
  Adapter::Patterns patterns;
  const auto it = file.find(key);
  if (it == file.end() || it->is_null()) return patterns;
  const auto wrong = [&] {
    return bad(fmt::format("adapter_config.json: '{}' is not an object of numbers", key));
  };
  if (!it->is_object()) return wrong();
  for (const auto& [pattern, value] : it->items()) {
    if (!value.is_number()) return wrong();
    patterns.emplace_back(pattern, value.get<double>());
  }
  return patterns;
}

// Values of patterns in the order of PEFT's files.
bool counts_the_same_sorted(const Adapter& a, const std::vector<std::string>& layers) {
  Adapter sorted = a;
  std::sort(sorted.ranks.begin(), sorted.ranks.end());
  std::sort(sorted.alphas.begin(), sorted.alphas.end());
  return std::all_of(layers.begin(), layers.end(), [&](const std::string& layer) {
    return sorted.rank_of(layer) == a.rank_of(layer) && sorted.scale_of(layer) == a.scale_of(layer);
  });
}

Result<std::vector<std::string>> texts_of(const OrderedJson& file, const char* key) {
  std::vector<std::string> texts;
  const auto it = file.find(key);
  if (it == file.end() || it->is_null()) return texts;
  if (it->is_array())
    for (const OrderedJson& one : *it)
      if (one.is_string()) texts.push_back(one.get<std::string>());
  if (!it->is_array() || texts.size() != it->size())
    return bad(fmt::format("adapter_config.json: '{}' is not a list of names", key));
  return texts;
}

// Whether the matrices beside it are of an experts' module (Adapter::parameters).
bool is_module_of_experts(const std::string& layer) {
  return layer.ends_with(".experts") || layer.ends_with(".experts.base_layer");
}

Json whole_or_real(double v) {
  return v == std::floor(v) ? Json(static_cast<int64_t>(v)) : Json(v);
}

}  // namespace

std::vector<std::string> adapted_layers(const ModelConfig& c) {
  std::vector<std::string> layers;
  const std::string_view prefix = kAdapterPrefix;
  for (const ParamSpec& p : family_of(c).params(c))
    if (p.part == ParamSpec::Part::added && p.name.ends_with(kFirstMatrix)) {
      const std::string layer =
          p.name.substr(prefix.size(), p.name.size() - prefix.size() - kFirstMatrix.size());
      if (!is_module_of_experts(layer)) layers.push_back(layer);
    }
  return layers;
}

std::vector<std::string> adapted_parameters(const ModelConfig& c) {
  std::vector<std::string> names;
  for (const std::string& name : stacked_parameters(family_of(c).params(c)))
    if (c.adapter->adapts_parameter(name)) names.push_back(name);
  return names;
}

Result<Adapter> read_adapter_config(const OrderedJson& file) {
  if (!file.is_object()) return bad("adapter_config.json is not a JSON object");
  if (const OrderedJson type = file.value("peft_type", OrderedJson()); type != "LORA")
    return bad(fmt::format("adapter_config.json: an adapter of the type {}", type.dump()))
        .todo("LORA works");
  HONE_TRY(refuse_other_keys(file));
  HONE_TRY(check_first_values_of_file(file));
  if (const OrderedJson bias = file.value("bias", OrderedJson("none")); bias != "none")
    return bad(fmt::format("adapter_config.json: 'bias' is {}", bias.dump())).todo("none works");
  Adapter a;
  const auto number = [&](const char* key, double otherwise) {
    const auto it = file.find(key);
    return it != file.end() && it->is_number() ? it->get<double>() : otherwise;
  };
  const double r = number("r", 8);
  a.alpha = number("lora_alpha", 8);
  a.dropout = number("lora_dropout", 0);
  if (!(r >= 1 && r <= kLargestSize && r == std::floor(r)))
    return bad(fmt::format("adapter_config.json: 'r' is {}, a whole number is expected", r));
  if (!(a.dropout >= 0 && a.dropout < 1))
    return bad(
        fmt::format("adapter_config.json: 'lora_dropout' is {}, a share is expected", a.dropout));
  a.r = static_cast<int64_t>(r);
  a.ranks = HONE_TRY(patterns_of(file, "rank_pattern"));
  a.alphas = HONE_TRY(patterns_of(file, "alpha_pattern"));
  a.dora = value_at(file, "use_dora") == true;
  a.rslora = value_at(file, "use_rslora") == true;
  if (const OrderedJson& targets = value_at(file, "target_modules"); targets.is_string())
    a.pattern = targets.get<std::string>();
  else
    a.targets = HONE_TRY(texts_of(file, "target_modules"));
  a.parameters = HONE_TRY(texts_of(file, "target_parameters"));
  if (const OrderedJson& targets = value_at(file, "target_modules");
      targets.is_array() && targets.empty() && !a.parameters.empty())
    a.targets = {Adapter::kNoLayers};
  HONE_TRY(check_patterns(a));
  a.saved = HONE_TRY(texts_of(file, "modules_to_save"));
  return a;
}

Json adapter_config(const ModelConfig& c, const std::string& base) {
  const Adapter& a = *c.adapter;
  Json j = Json::object();
  for (const char* key : {"auto_mapping", "corda_config", "eva_config", "exclude_modules",
                          "layer_replication", "layers_pattern", "layers_to_transform",
                          "megatron_config", "revision", "trainable_token_indices"})
    j[key] = nullptr;
  for (const char* key : {"alpha_pattern", "loftq_config", "rank_pattern"}) j[key] = Json::object();
  for (const auto& [pattern, rank] : a.ranks) j["rank_pattern"][pattern] = whole_or_real(rank);
  for (const auto& [pattern, alpha] : a.alphas) j["alpha_pattern"][pattern] = whole_or_real(alpha);
  j["base_model_name_or_path"] = base;
  j["bias"] = "none";
  // bitsandbytes keeps [out,in].
  j["fan_in_fan_out"] = c.family == "gpt2" && !(c.quantization && c.quantization->of_file.empty());
  j["inference_mode"] = true;
  j["init_lora_weights"] = !a.first ? Json(true)
                           : a.principal_turns < 0
                               ? Json("pissa")
                               : Json(fmt::format("pissa_niter_{}", a.principal_turns));
  j["lora_alpha"] = whole_or_real(a.alpha);
  j["lora_bias"] = false;
  j["lora_dropout"] = a.dropout;
  j["megatron_core"] = "megatron.core";
  std::vector<std::string> saved = a.saved;
  if (classifies(c.head))
    for (const char* name : kClassifierModules)
      if (std::find(saved.begin(), saved.end(), name) == saved.end()) saved.emplace_back(name);
  j["modules_to_save"] = saved.empty() ? Json() : Json(saved);
  j["peft_type"] = "LORA";
  j["r"] = a.r;
  if (a.adapts_no_layers())
    j["target_modules"] = Json::array();
  else if (a.pattern == Adapter::kAllLinear)
    j["target_modules"] = adapted_layers(c);
  else if (!a.pattern.empty())
    j["target_modules"] = a.pattern;
  else
    j["target_modules"] = a.targets.empty() ? c.adapted : a.targets;
  if (!a.parameters.empty()) j["target_parameters"] = a.parameters;
  const char* task = task_type(c);
  j["task_type"] = task == nullptr ? Json() : Json(task);
  j["use_dora"] = a.dora;
  j["use_rslora"] = a.rslora;
  return j;
}

namespace {

// The layer that a matrix of an expert would be, "...mlp.experts.0.up_proj"; "": the weight is none.
std::string expert_layer(const ParamSpec& p) {
  if (p.shape.size() != 3) return "";
  const std::string_view prefix = kAdapterPrefix;
  std::string layer = p.name.substr(p.name.starts_with(prefix) ? prefix.size() : 0);
  if (layer.ends_with(".weight")) layer.resize(layer.rfind('.'));
  if (const size_t number = layer.find('*'); number != layer.npos) layer.replace(number, 1, "0");
  return layer;
}

// Matrices of experts are not linear layers: PEFT adapts them as parameters alone, so a layer's name of them alone is
// refused. They are not trained whole beside an adapter.
Status check_experts_of_adapter(const Adapter& a, const std::vector<ParamSpec>& params,
                                const std::vector<std::string>& adapted) {
  const auto refuse = [](const std::string& layer, const char* what) {
    return bad(fmt::format("'{}' is a matrix of an expert, which hone {}", layer, what))
        .todo(
            "name other layers, such as q_proj, k_proj, v_proj and o_proj, or the experts of a "
            "layer by "
            "--lora_target_parameters mlp.experts.gate_up_proj mlp.experts.down_proj");
  };
  for (const ParamSpec& p : params) {
    const std::string layer = expert_layer(p);
    if (layer.empty()) continue;
    if (p.part == ParamSpec::Part::saved)
      return refuse(layer, "does not train whole beside an adapter");
    for (const std::string& t : a.targets)
      if (ends_in_layer(layer, t) &&
          std::none_of(adapted.begin(), adapted.end(),
                       [&](const auto& other) { return ends_in_layer(other, t); }))
        return refuse(layer, "gives no adapter");
  }
  return Ok{};
}

std::vector<std::string> first_two(const std::vector<std::string>& names) {
  return {names.begin(), names.begin() + std::min<std::ptrdiff_t>(2, std::ssize(names))};
}

// Each name is that of matrices of experts, and the adapter is of a kind that PEFT gives them.
Status check_target_parameters(const Adapter& a, const std::vector<ParamSpec>& params) {
  if (a.parameters.empty()) return Ok{};
  const std::vector<std::string> known = stacked_parameters(params);
  for (const std::string& wanted : a.parameters) {
    if (std::any_of(known.begin(), known.end(),
                    [&](const std::string& name) { return ends_in_layer(name, wanted); }))
      continue;
    return bad(fmt::format("no matrices of experts are named '{}'", wanted))
        .todo(known.empty() ? "leave --lora_target_parameters out: the model has no experts"
                            : fmt::format("the first are {}", join(first_two(known), " and ")));
  }
  if (a.dora || a.dropout > 0)
    return bad(a.dora ? "DoRA of matrices of experts is not supported"
                      : fmt::format("dropout {} before an adapter of experts is not supported",
                                    a.dropout))
        .todo(a.dora ? "leave --use_dora out" : "use --lora_dropout 0");
  return Ok{};
}

Status check_first_values(const ModelConfig& c) {
  const Adapter& a = *c.adapter;
  if (!a.first) return Ok{};
  const char* with = c.quantization          ? "weights in few bits"
                     : a.dora                ? "DoRA"
                     : !a.parameters.empty() ? "matrices of experts"
                                             : nullptr;
  if (with == nullptr) return Ok{};
  return bad(fmt::format("PiSSA of {} is not supported", with))
      .at("--init_lora_weights pissa")
      .todo("leave --init_lora_weights out");
}

}  // namespace

Status check_adapter(const ModelConfig& c) {
  if (!c.adapter) return Ok{};
  const Adapter& a = *c.adapter;
  HONE_TRY(check_patterns(a));
  HONE_TRY(check_first_values(c));
  const std::vector<ParamSpec> params = family_of(c).params(c);
  const std::vector<std::string> adapted = adapted_layers(c);
  HONE_TRY(check_experts_of_adapter(a, params, adapted));
  HONE_TRY(check_target_parameters(a, params));
  std::vector<std::string> names = adapted;
  for (const std::string& name : adapted_parameters(c)) names.push_back(name);
  if (!counts_the_same_sorted(a, names))
    return bad("rank_pattern or alpha_pattern has two patterns for one layer, in an order that "
               "PEFT's file does not keep")
        .todo("write patterns that match different layers");
  if (adapted.empty() && a.parameters.empty()) {
    ModelConfig all = c;
    auto every = std::make_shared<Adapter>(a);
    every->pattern = Adapter::kAllLinear;
    all.adapter = every;
    std::vector<std::string> endings;
    for (const std::string& layer : adapted_layers(all)) {
      const std::string ending = layer.substr(layer.rfind('.') + 1);
      if (std::find(endings.begin(), endings.end(), ending) == endings.end())
        endings.push_back(ending);
    }
    const std::string asked = !a.pattern.empty() ? a.pattern : join(a.targets, ", ");
    return bad(asked.empty() ? fmt::format("models of the type {} have no usual layers for LoRA",
                                           c.text("model_type", c.family))
                             : fmt::format("no layer of the model is named {}", asked))
        .todo(fmt::format("name some of them by --lora_target_modules: {}; or all-linear",
                          join(endings, ", ")));
  }
  for (const std::string& name : a.saved) {
    const bool found = std::any_of(params.begin(), params.end(), [&](const ParamSpec& p) {
      return p.part == ParamSpec::Part::saved && names_part(p.name, name);
    });
    if (found || std::find(std::begin(kClassifierModules), std::end(kClassifierModules), name) !=
                     std::end(kClassifierModules))
      continue;
    return bad(fmt::format("the model has no module '{}' to train whole", name))
        .todo(
            "name modules of the model by --lora_modules_to_save; a head that is tied to the "
            "embedding is none");
  }
  for (const ParamSpec& p : params)
    if (p.part == ParamSpec::Part::saved && p.is_trained() && p.looked_up && c.tied)
      return bad(fmt::format("'{}' is the head too: it cannot be trained in full with an adapter",
                             p.also.front()))
          .todo("leave it out of --lora_modules_to_save");
  return Ok{};
}

}  // namespace hone
