// The blocks optimizer and scheduler. Defaults:
// https://deepspeed.readthedocs.io/en/latest/optimizers.html and .../schedulers.html.
#include "learn/train/optimizers/optimizer.h"

#include "base/core/text.h"
#include "learn/train/deepspeed/block.h"
#include "learn/train/schedules/schedule_form.h"

namespace hone::deepspeed {
namespace {

// An optimizer of the shelf under one of its names in DeepSpeed.
struct KnownOptimizer {
  Optimizer optimizer;
  DeepSpeedOptimizer deepspeed;
};
const std::vector<KnownOptimizer>& known_optimizers() {
  static const std::vector<KnownOptimizer> known = [] {
    std::vector<KnownOptimizer> all;
    for (const Optimizer& o : all_optimizer())
      for (const DeepSpeedOptimizer& d : o.deepspeed) all.push_back({o, d});
    return all;
  }();
  return known;
}

template <class List, class Name>
std::string names_in(const List& list, Name name) {
  std::string text;
  for (const auto& one : list)
    if (const std::string n = name(one); !n.empty()) text += (text.empty() ? "" : ", ") + n;
  return text;
}

// The user's --optim may be another name of the same optimizer.
bool same_optimizer(const std::string& a, const std::string& b) {
  for (const Optimizer& o : all_optimizer()) {
    const auto named = [&](const std::string& name) {
      return std::find(o.names.begin(), o.names.end(), name) != o.names.end();
    };
    if (named(a)) return named(b);
  }
  return false;
}

void imply_optimizer(const Block& b, const std::string& optim) {
  const Schema& schema = b.reading.schema;
  if (schema.given("optim") && same_optimizer(schema.at("optim").value().get<std::string>(), optim))
    return;
  b.reading.imply("optim", optim, b.place_of("type"));
}

void imply_betas(const Block& params, const KnownOptimizer& known) {
  Reading& r = params.reading;
  const std::string where = params.place_of("betas");
  if (!params.has("betas")) {
    r.imply_default("adam_beta1", known.deepspeed.beta1, where);
    r.imply_default("adam_beta2", known.deepspeed.beta2, where);
  }
  const Json& betas = params.at("betas");
  if (betas.is_null()) return;
  if (!betas.is_array() || betas.size() != 2 || !betas[0].is_number() || !betas[1].is_number())
    return r.cannot(fmt::format("betas are {}, not two numbers", dump_json(betas)), where,
                    "write [0.9, 0.999], or \"auto\"");
  r.imply("adam_beta1", betas[0], where);
  r.imply("adam_beta2", betas[1], where);
}

// A key that must have one value, because hone has no other way.
Act only(const Json& value) {
  return [value](Reading& r, const Json& v, const std::string& pointer) {
    if (v != value)
      r.cannot(fmt::format("hone's optimizer supports only {}", dump_json(value)), pointer,
               "remove the key");
  };
}

// The optimizer's own arguments, such as SGD's momentum, as --optim_args.
void imply_arguments(const Block& params, const Optimizer& optimizer) {
  std::string args;
  for (const OptimizerArgument& a : optimizer.arguments)
    if (const Json& v = params.at(a.name); !v.is_null())
      args += fmt::format("{}{}={}", args.empty() ? "" : ",", a.name, dump_json(v));
  if (!args.empty()) params.reading.imply("optim_args", args, params.pointer);
}

// The scheduler's rate takes precedence over the optimizer's.
bool scheduler_has_rate(const Block& top) {
  const Json& s = top.at("scheduler");
  if (!s.is_object() || s.value("type", "") == "WarmupCosineLR") return false;
  const Json& params = s.value("params", Json::object());
  return !params.is_object() || params.value("warmup_max_lr", Json()) != Json("auto");
}

}  // namespace

void read_optimizer(const Block& top) {
  const Block b = top.block("optimizer");
  if (b.json.empty()) return;
  Reading& r = b.reading;
  b.walk({{"type", seen()}, {"params", seen()}, {"legacy_fusion"}});
  const std::string type = b.text("type", "");
  const auto known = std::find_if(
      known_optimizers().begin(), known_optimizers().end(),
      [&](const KnownOptimizer& k) { return to_lower(k.deepspeed.type) == to_lower(type); });
  if (known == known_optimizers().end())
    return r.cannot(
        fmt::format("hone does not have DeepSpeed's optimizer '{}'", type), b.place_of("type"),
        fmt::format("write one of {}, or remove the block and use --optim",
                    names_in(known_optimizers(),
                             [](const KnownOptimizer& k) { return k.deepspeed.type; })));
  const Block params = b.block("params");
  // DeepSpeed's Adam is AdamW unless adam_w_mode is false.
  const std::string& name = known->deepspeed.type;
  const bool l2 = name == "Adam" && !params.flag("adam_w_mode", true);
  imply_optimizer(b, l2 ? "adam" : known->optimizer.names[0]);
  if (!scheduler_has_rate(top)) {
    if (!params.has("lr")) r.imply_default("learning_rate", 1e-3, params.place_of("lr"));
    if (const Json& lr = params.at("lr"); !lr.is_null())
      r.imply("learning_rate", lr, params.place_of("lr"));
  }
  if (!params.has("weight_decay"))
    r.imply_default("weight_decay", 0.0, params.place_of("weight_decay"));
  std::vector<Key> keys{{"lr", seen()},
                        {"weight_decay", sets("weight_decay")},
                        {"torch_adam"},
                        {"foreach"},
                        {"fused"},
                        {"set_grad_none"},
                        {"fp32_optimizer_states", only(true)}};
  if (!known->optimizer.adam.empty()) {
    imply_betas(params, *known);
    keys.push_back({"betas", seen()});
    if (!params.has("eps"))
      r.imply_default("adam_epsilon", known->deepspeed.epsilon, params.place_of("eps"));
    keys.push_back({"eps", sets("adam_epsilon")});
    keys.push_back({"bias_correction", only(true)});
    keys.push_back({"amsgrad", only(false)});
  }
  if (name == "Adam") keys.push_back({"adam_w_mode", seen()});
  if (name == "AdamW") keys.push_back({"adam_w_mode", only(true)});
  imply_arguments(params, known->optimizer);
  for (const OptimizerArgument& a : known->optimizer.arguments) keys.push_back({a.name, seen()});
  params.walk(keys);
}

void read_scheduler(const Block& top) {
  const Block b = top.block("scheduler");
  if (b.json.empty() || b.json.value("type", Json()).is_null()) return;
  Reading& r = b.reading;
  b.walk({{"type", seen()}, {"params", seen()}});
  const std::string type = b.text("type", "");
  const std::vector<ScheduleForm> known = all_schedule();
  const auto at = std::find_if(known.begin(), known.end(), [&](const ScheduleForm& f) {
    return !f.deepspeed.empty() && f.deepspeed == type;
  });
  if (at == known.end())
    return r.cannot(
        fmt::format("hone does not have DeepSpeed's schedule '{}'", type), b.place_of("type"),
        fmt::format("write one of {}, or remove the block and use --lr_scheduler_type",
                    names_in(known, [](const ScheduleForm& f) { return f.deepspeed; })));
  r.imply("lr_scheduler_type", at->name, b.place_of("type"));
  const bool cosine = type == "WarmupCosineLR", ends = type != "WarmupLR";
  const Block params = b.block("params");

  if (!cosine) {
    const std::string where = params.place_of("warmup_max_lr");
    if (!params.has("warmup_max_lr")) r.imply_default("learning_rate", 1e-3, where);
    if (const Json& most = params.at("warmup_max_lr"); !most.is_null())
      r.imply("learning_rate", most, where);
  }
  const std::string where = params.place_of("warmup_num_steps");
  const Json& steps = params.at("warmup_num_steps");
  if (!params.has("warmup_num_steps") && !r.schema.given("warmup_ratio"))
    r.imply_default("warmup_steps", 1000, where);
  if (!steps.is_null()) {
    if (!steps.is_number() || steps.get<double>() < 0 ||
        steps.get<double>() != static_cast<double>(static_cast<int64_t>(steps.get<double>()))) {
      r.cannot(fmt::format("warmup_num_steps is {}, not a number of steps", dump_json(steps)),
               where, "write a whole number, or \"auto\"");
    } else {
      r.imply("warmup_steps", steps, where);
      r.imply("warmup_ratio", 0.0, where);
    }
  }
  Json more = Json::object();
  const auto adds = [&](const std::string& name) -> Act {
    return [&more, name](Reading&, const Json& v, const std::string&) { more[name] = v; };
  };
  std::vector<Key> keys{{"warmup_num_steps", seen()},
                        {"warmup_type", adds("warmup_type")},
                        {"last_batch_iteration", only(-1)}};
  if (ends) keys.push_back({"total_num_steps", adds("total_num_steps")});
  if (cosine) {
    keys.push_back({"warmup_min_ratio", adds("warmup_min_ratio")});
    keys.push_back({"cos_min_ratio", adds("cos_min_ratio")});
  } else {
    keys.push_back({"warmup_min_lr", adds("min_lr")});
    keys.push_back({"warmup_max_lr", seen()});
  }
  params.walk(keys);
  if (!more.empty()) r.imply("lr_scheduler_kwargs", more, params.pointer);
}

}  // namespace hone::deepspeed
