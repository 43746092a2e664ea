// Checks a model folder: missing, unused and non-finite weights, and the tokenizer's ids.
#include "learn/check/check_model.h"

#include <cmath>

#include "base/core/text.h"
#include "learn/pretrained/weights.h"

namespace hone {
namespace {

std::string some_of(const std::vector<std::string>& names) {
  constexpr size_t kShown = 3;
  if (names.size() <= kShown) return join(names, ", ");
  return fmt::format("{} and {} more", fmt::join(names.begin(), names.begin() + kShown, ", "),
                     names.size() - kShown);
}

void check_values(const WeightSource& weights, const TensorInfo& t, Findings& findings) {
  std::vector<float> values(static_cast<size_t>(t.type.count()));
  if (!findings.passed(weights.read(t.name, DType::f32, std::as_writable_bytes(std::span(values)))))
    return;
  size_t bad = 0, first = 0;
  for (size_t i = 0; i < values.size(); ++i)
    if (!std::isfinite(values[i]) && bad++ == 0) first = i;
  if (bad == 0) return;
  findings.add(
      FindingLevel::kError, "weights_not_finite",
      fmt::format("weight '{}' {} holds {} values that are NaN or infinite, the first at {}",
                  t.name, text_of(t.type.shape), bad, first),
      t.file, "get the model again; a run that diverged saves such weights");
}

void check_tokenizer(const Pretrained& model, Findings& findings) {
  const Tokenizer& tokenizer = *model.tokenizer;
  const ModelConfig& config = model.config;
  if (tokenizer.id_limit() > config.vocab) {
    findings.add(FindingLevel::kWarning, "tokenizer_larger_than_model",
                 fmt::format("the tokenizer has ids up to {}, the model a vocabulary of {}",
                             tokenizer.id_limit() - 1, config.vocab),
                 "",
                 "a text that needs the ids above cannot be learnt: do the two belong together?");
  }
  if (config.head != Head::causal_lm && config.head != Head::seq2seq_lm) {
    // Its texts have no end to learn, but a frame.
    if (tokenizer.special_token_count(false) == 0)
      findings.add(
          FindingLevel::kWarning, "no_special_tokens",
          fmt::format("the tokenizer adds no begin and end tokens, which {} was trained with",
                      config.family),
          "", "take tokenizer.json, or tokenizer_config.json with it, from the model's origin");
    return;
  }
  if (!tokenizer.eos_id()) {
    findings.add(FindingLevel::kWarning, "no_end_token",
                 "the tokenizer names no end-of-text token: the model cannot learn to stop", "",
                 "name eos_token in tokenizer_config.json");
  } else if (config.config.contains("eos_token_id") &&
             config.config["eos_token_id"].is_number_integer() &&
             config.config["eos_token_id"].get<int64_t>() != *tokenizer.eos_id()) {
    findings.add(FindingLevel::kWarning, "two_end_tokens",
                 fmt::format("text ends with token {} in config.json, with {} in the tokenizer",
                             config.config["eos_token_id"].get<int64_t>(), *tokenizer.eos_id()),
                 "", "generation stops at the one of generation_config.json or config.json");
  }
}

}  // namespace

void check_model(const Pretrained& model, Findings& findings) {
  if (model.tokenizer) check_tokenizer(model, findings);
  if (!model.weights) return;
  const NewHead may_be_new;
  if (const Status fit = check_weights(*model.weights, model.config, &may_be_new); !fit.ok())
    findings.add(fit.error());
  std::vector<std::string> fresh;
  for (const ParamSpec& spec : family_of(model.config).params(model.config)) {
    if (spec.part == ParamSpec::Part::added) continue;  // of an adapter
    const TensorInfo* t = find_weight(*model.weights, model.config, spec);
    if (t != nullptr && t->type.shape == spec.shape) check_values(*model.weights, *t, findings);
    if (t == nullptr && spec.of_head) fresh.push_back(spec.name);
  }
  if (!fresh.empty())
    findings.add(FindingLevel::kNote, "new_head",
                 fmt::format("the checkpoint has no head for this: {} are made from the seed",
                             some_of(fresh)),
                 "", "");
  if (const auto unused = unused_weights(*model.weights, model.config); !unused.empty())
    findings.add(FindingLevel::kWarning, "unused_weights",
                 fmt::format("{} tensors of the checkpoint are not read: {}", unused.size(),
                             some_of(unused)),
                 model.weights->find(unused[0])->file,
                 "are config.json and the weights of the same model? a head that the task does not "
                 "use may be left out");
}

}  // namespace hone
