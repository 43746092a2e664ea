// Which rule, with which numbers: the optimizer flags of TrainingArguments.
#include <charconv>
#include <cmath>
#include <map>

#include "base/core/text.h"
#include "learn/train/errors.h"
#include "learn/train/update.h"

namespace hone {
namespace {

// key=value pairs between commas, as the Trainer splits them.
Result<std::map<std::string, std::string>> pairs_of(const std::string& text) {
  std::map<std::string, std::string> pairs;
  if (trim(text).empty()) return pairs;
  for (const std::string& part : split(text, ',')) {
    const std::string one(trim(part));
    const size_t equals = one.find('=');
    if (equals == std::string::npos || equals == 0)
      return Error(err::kOptimizerArgument, fmt::format("'{}' is no name=value", one))
          .at("--optim_args " + text)
          .todo("write name=value pairs with commas between them: momentum=0.9,nesterov=true");
    pairs[std::string(trim(one.substr(0, equals)))] = trim(one.substr(equals + 1));
  }
  return pairs;
}

Result<Attr> value_of(const std::string& name, const std::string& text, const Attr& like) {
  if (std::holds_alternative<bool>(like)) {
    const std::string lower = to_lower(text);
    if (lower == "true" || lower == "1" || lower == "yes") return Attr(true);
    if (lower == "false" || lower == "0" || lower == "no") return Attr(false);
  } else {
    double number = 0;
    const char* end = text.data() + text.size();
    const auto [stopped, error] = std::from_chars(text.data(), end, number);
    if (error == std::errc() && stopped == end && std::isfinite(number)) return Attr(number);
  }
  return Error(err::kOptimizerArgument, fmt::format("{} cannot be '{}'", name, text))
      .at("--optim_args")
      .todo(std::holds_alternative<bool>(like) ? "give true or false" : "give a number");
}

}  // namespace

Result<UpdateOptions> update_options(const TrainSettings& s) {
  const std::string name = s.adafactor ? "adafactor" : s.optim;
  UpdateOptions o;
  o.max_grad_norm = s.max_grad_norm;
  o.attrs = {};
  Attrs more;  // what --optim_args may set, with the defaults
  if (name == "sgd" || name == "adagrad" || name == "rmsprop" || name == "adafactor") {
    o.rule = name;
    if (name == "sgd") more = {{"momentum", 0.0}, {"dampening", 0.0}, {"nesterov", false}};
    if (name == "adagrad") more = {{"lr_decay", 0.0}, {"eps", 1e-10}};
    if (name == "rmsprop")
      more = {{"momentum", 0.0}, {"alpha", 0.99}, {"eps", 1e-8}, {"centered", false}};
    if (name == "adafactor") {
      o.attrs = {{"eps", 1e-30}};
      more = {{"clip_threshold", 1.0}, {"decay_rate", -0.8}};
    }
  } else {
    o.rule = name.starts_with("lion") ? "lion" : name == "lamb" ? "lamb" : "adamw";
    o.attrs = {{"beta1", s.adam_beta1}, {"beta2", s.adam_beta2}};
    if (o.rule != "lion") o.attrs.set("eps", s.adam_epsilon);
    if (name == "adam" || name == "adam_torch") {
      o.attrs.set("l2", true);
      o.decay_all = true;
    }
  }
  std::vector<std::string> known;
  for (const auto& [key, value] : more.all()) known.push_back(key);
  for (const auto& [key, text] : HONE_TRY(pairs_of(s.optim_args))) {
    if (key == "weight_decay")
      return Error(err::kOptimizerArgument, "weight_decay is a setting of its own")
          .at("--optim_args " + s.optim_args)
          .todo("use --weight_decay " + text);
    if (!more.has(key))
      return Error(err::kOptimizerArgument,
                   fmt::format("the optimizer {} takes no argument '{}'", name, key))
          .at("--optim_args " + s.optim_args)
          .todo(known.empty() ? "leave --optim_args out; --adam_beta1, --adam_beta2 and "
                                "--adam_epsilon are settings of their own"
                              : fmt::format("it takes {}", fmt::join(known, ", ")));
    more.set(key, HONE_TRY(value_of(key, text, more.all().find(key)->second)));
  }
  if (more.flag("nesterov") && (more.real("momentum") <= 0 || more.real("dampening") != 0))
    return Error(err::kOptimizerArgument, "nesterov needs a momentum and no dampening")
        .at("--optim_args " + s.optim_args)
        .todo("add momentum=0.9, or leave nesterov out");
  for (const auto& [key, value] : more.all()) o.attrs.set(key, value);
  o.attrs.set("weight_decay", s.weight_decay);
  return o;
}

}  // namespace hone
