// The rule and its numbers, from the optimizer flags of TrainingArguments.
#include <charconv>
#include <cmath>
#include <map>

#include "base/core/text.h"
#include "engine/ops/ops.h"
#include "learn/train/optimizers/errors.h"
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
      return Error(err::kOptimizerArgument, fmt::format("'{}' is not name=value", one))
          .at("--optim_args " + text)
          .todo("write name=value pairs with commas between them: momentum=0.9,nesterov=true");
    pairs[std::string(trim(one.substr(0, equals)))] = trim(one.substr(equals + 1));
  }
  return pairs;
}

Result<Attr> value_of(const OptimizerArgument& argument, const std::string& text) {
  const bool yes_or_no = std::holds_alternative<bool>(argument.otherwise);
  if (yes_or_no) {
    const std::string lower = to_lower(text);
    if (lower == "true" || lower == "1" || lower == "yes") return Attr(true);
    if (lower == "false" || lower == "0" || lower == "no") return Attr(false);
  } else if (std::holds_alternative<std::string>(argument.otherwise)) {
    if (std::find(argument.choices.begin(), argument.choices.end(), text) != argument.choices.end())
      return Attr(text);
  } else if (std::holds_alternative<int64_t>(argument.otherwise)) {
    int64_t number = 0;
    const char* end = text.data() + text.size();
    const auto [stopped, error] = std::from_chars(text.data(), end, number);
    if (error == std::errc() && stopped == end && static_cast<double>(number) >= argument.least &&
        static_cast<double>(number) <= argument.most)
      return Attr(number);
  } else {
    double number = 0;
    const char* end = text.data() + text.size();
    const auto [stopped, error] = std::from_chars(text.data(), end, number);
    if (error == std::errc() && stopped == end && std::isfinite(number) &&
        number >= argument.least && number <= argument.most)
      return Attr(number);
  }
  std::string remedy = yes_or_no                                             ? "give true or false"
                       : std::holds_alternative<int64_t>(argument.otherwise) ? "give a whole number"
                       : argument.choices.empty()                            ? "give a number"
                                                  : "give " + join(argument.choices, " or ");
  const bool number = argument.choices.empty();
  if (number && std::isfinite(argument.least))
    remedy += fmt::format(", {:g} or more", argument.least);
  if (number && std::isfinite(argument.most))
    remedy += fmt::format(", at most {:g}", argument.most);
  return Error(err::kOptimizerArgument, fmt::format("{} cannot be '{}'", argument.name, text))
      .at("--optim_args")
      .todo(remedy);
}

const std::vector<Optimizer>& optimizer_shelf() {
  static const std::vector<Optimizer> all = all_optimizer();
  return all;
}

// Averages of weights are exchanged with the weights, so both must be whole and of one type here.
Status check_averages(const TrainSettings& s, bool by_optimizer) {
  const bool ema = s.ema_decay > 0;
  if (!ema && !by_optimizer) return Ok{};
  const std::string flag =
      ema ? fmt::format("--ema_decay {:g}", s.ema_decay) : fmt::format("--optim {}", s.optim);
  const auto refuse = [&](const std::string& other, const std::string& remedy) {
    return Error(err::kOptimizerArgument, "averages of weights do not go together with " + other)
        .at(flag)
        .todo(remedy);
  };
  if (ema && by_optimizer)
    return refuse(fmt::format("the optimizer {}, which keeps its own", s.optim),
                  "leave --ema_decay out");
  if (s.zero_stage > 0 || s.split_invariant > 0)
    return refuse("states that ranks divide", "leave --zero_stage and --split_invariant out");
  if (s.offload_optimizer_device != "none" || s.auto_fit)
    return refuse("offloaded optimizer states",
                  "leave --offload_optimizer_device and --auto_fit out");
  return Ok{};
}

}  // namespace

std::vector<std::string> optimizer_names() {
  std::vector<std::string> names;
  for (const Optimizer& o : optimizer_shelf())
    names.insert(names.end(), o.names.begin(), o.names.end());
  return names;
}

std::string optimizer_arguments() {
  std::vector<std::string> optimizers;
  for (const Optimizer& o : optimizer_shelf()) {
    std::vector<std::string> names;
    for (const OptimizerArgument& a : o.arguments) names.push_back(a.name);
    if (!names.empty())
      optimizers.push_back(fmt::format("{}: {}", o.names.front(), join(names, ", ")));
  }
  return join(optimizers, "; ");
}

const Optimizer& optimizer_named(const std::string& name) {
  for (const Optimizer& o : optimizer_shelf())
    if (std::find(o.names.begin(), o.names.end(), name) != o.names.end()) return o;
  HONE_BUG_IF(true, "no optimizer is named '{}'", name);
  __builtin_unreachable();
}

const Optimizer& optimizer_of(const TrainSettings& s) {
  return optimizer_named(s.adafactor ? "adafactor" : s.optim);
}

Result<UpdateOptions> update_options(const TrainSettings& s) {
  const Optimizer& optimizer = optimizer_of(s);
  const AdamSettings adam{s.adam_beta1, s.adam_beta2, s.adam_epsilon};
  UpdateOptions o;
  o.optimizer = optimizer.names.front();
  o.max_grad_norm = s.max_grad_norm;
  o.scaled = s.fp16;
  o.all_or_nothing = s.fp16 || s.non_finite_policy() == "skip";
  o.seed = static_cast<uint64_t>(s.seed);
  o.stochastic_rounding = s.bf16_stochastic_round;
  if (s.use_peft) o.loraplus_lr_ratio = s.loraplus_lr_ratio;
  if (!s.optim_target_modules.empty() && !optimizer.needs_targets)
    return Error(err::kOptimizerArgument, fmt::format("the optimizer {} is for all layers",
                                                      s.adafactor ? "adafactor" : s.optim))
        .at("--optim_target_modules " + join(s.optim_target_modules, " "))
        .todo("leave it out, or use --optim apollo_adamw");
  o.attrs = optimizer.fixed;
  for (const auto& [attribute, value] : optimizer.adam) {
    const bool rate = value != &AdamSettings::epsilon;
    if (rate && adam.*value >= 1)  // the bias correction divides by 1 - beta^step
      return Error(err::kOptimizerArgument, "with a decay rate of 1 a moment never changes")
          .at(fmt::format("--adam_{} {:g}", attribute, adam.*value))
          .todo("give a number below 1");
    o.attrs.set(attribute, adam.*value);
  }
  std::vector<std::string> known;
  for (const OptimizerArgument& a : optimizer.arguments) {
    known.push_back(a.name);
    o.attrs.set(a.name, a.otherwise);
  }
  for (const auto& [key, text] : HONE_TRY(pairs_of(s.optim_args))) {
    if (key == "weight_decay")
      return Error(err::kOptimizerArgument, "weight_decay is a setting of its own")
          .at("--optim_args " + s.optim_args)
          .todo("use --weight_decay " + text);
    const auto at = std::find(known.begin(), known.end(), key);
    if (at == known.end())
      return Error(err::kOptimizerArgument, fmt::format("the optimizer {} takes no argument '{}'",
                                                        s.adafactor ? "adafactor" : s.optim, key))
          .at("--optim_args " + s.optim_args)
          .todo(known.empty() ? "leave --optim_args out; --adam_beta1, --adam_beta2 and "
                                "--adam_epsilon are settings of their own"
                              : fmt::format("it takes {}", join(known, ", ")));
    const auto index = static_cast<size_t>(at - known.begin());
    o.attrs.set(key, HONE_TRY(value_of(optimizer.arguments[index], text)));
  }
  if (optimizer.check)
    if (Status fits = optimizer.check(o.attrs); !fits.ok()) {
      Error e = fits.error();
      return e.at("--optim_args " + s.optim_args);
    }
  o.attrs.set("weight_decay", s.weight_decay);
  if (op_table().find(optimizer.op)->attr("warmup_steps"))
    o.attrs.set("warmup_steps", static_cast<int64_t>(s.warmup_steps));  // as Trainer gives it
  o.ema_decay = s.ema_decay;
  HONE_TRY(check_averages(s, optimizer.averages));
  return o;
}

Status check_weight_types(const std::vector<UpdateWeight>& weights, const TrainSettings& s) {
  if ((optimizer_of(s).updates_bf16 && s.ema_decay == 0) ||
      std::none_of(weights.begin(), weights.end(),
                   [](const UpdateWeight& w) { return w.type.dtype == DType::bf16; }))
    return Ok{};
  std::vector<std::string> others;
  for (const Optimizer& o : optimizer_shelf())
    if (o.updates_bf16) others.push_back(o.names.front());
  if (s.ema_decay > 0)
    return Error(err::kOptimizerArgument, "weights in bfloat16 have no averages")
        .at(fmt::format("--ema_decay {:g}", s.ema_decay))
        .at("--dtype bfloat16")
        .todo("use --bf16 in place of --dtype bfloat16, or leave --ema_decay out");
  const std::string name = s.adafactor ? "adafactor" : s.optim;
  return Error(err::kOptimizerArgument,
               fmt::format("the optimizer {} does not update weights in bfloat16", name))
      .at("--optim " + name)
      .at("--dtype bfloat16")
      .todo(fmt::format("use --bf16 in place of --dtype bfloat16, or one of the optimizers {}",
                        join(others, ", ")));
}

Status check_targets(const std::vector<UpdateWeight>& weights, const TrainSettings& s) {
  if (!optimizer_of(s).needs_targets ||
      std::any_of(weights.begin(), weights.end(),
                  [](const UpdateWeight& w) { return w.is_target; }))
    return Ok{};
  const std::string asked = join(s.optim_target_modules, " ");
  return Error(err::kOptimizerArgument,
               asked.empty()
                   ? fmt::format("the optimizer {} needs to know for which layers it is", s.optim)
                   : fmt::format("no linear layer of the model is named {}", asked))
      .at("--optim_target_modules " + asked)
      .todo("give parts of the layers' names, such as attn mlp, or all-linear");
}

}  // namespace hone
