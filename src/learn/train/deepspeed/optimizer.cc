// The blocks optimizer and scheduler. Defaults:
// https://deepspeed.readthedocs.io/en/latest/optimizers.html and .../schedulers.html.
#include "learn/train/optimizers/optimizer.h"

#include "base/core/text.h"
#include "learn/train/deepspeed/block.h"

namespace hone::deepspeed {
namespace {

// DeepSpeed's name in small letters, the value of --optim, and defaults.
struct KnownOptimizer {
  std::string type, optim;
  double beta1, beta2, epsilon;  // epsilon 0: the optimizer has neither
};
const std::vector<KnownOptimizer>& known_optimizers() {
  static const std::vector<KnownOptimizer> known{{"adam", "adamw_torch", 0.9, 0.999, 1e-8},
                                                 {"adamw", "adamw_torch", 0.9, 0.999, 1e-8},
                                                 {"lamb", "lamb", 0.9, 0.999, 1e-8},
                                                 {"lion", "lion", 0.9, 0.99, 1e-8},
                                                 {"sgd", "sgd", 0, 0, 0}};
  return known;
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
    r.imply_default("adam_beta1", known.beta1, where);
    r.imply_default("adam_beta2", known.beta2, where);
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
      r.cannot(fmt::format("hone's optimizer has no other way than {}", dump_json(value)), pointer,
               "remove the key");
  };
}

// momentum, dampening and nesterov of SGD as --optim_args.
void imply_arguments(const Block& params) {
  std::string args;
  for (const char* key : {"momentum", "dampening", "nesterov"})
    if (const Json& v = params.at(key); !v.is_null())
      args += fmt::format("{}{}={}", args.empty() ? "" : ",", key, dump_json(v));
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
  const auto known =
      std::find_if(known_optimizers().begin(), known_optimizers().end(),
                   [&](const KnownOptimizer& k) { return k.type == to_lower(type); });
  if (known == known_optimizers().end())
    return r.cannot(fmt::format("hone does not have DeepSpeed's optimizer '{}'", type),
                    b.place_of("type"),
                    "write AdamW, Adam, Lamb, Lion or SGD, or remove the block and use --optim");
  const Block params = b.block("params");
  // DeepSpeed's Adam is AdamW unless adam_w_mode is false.
  const bool l2 = known->type == "adam" && !params.flag("adam_w_mode", true);
  imply_optimizer(b, l2 ? "adam" : known->optim);
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
  if (known->epsilon > 0) {
    imply_betas(params, *known);
    keys.push_back({"betas", seen()});
    if (!params.has("eps")) r.imply_default("adam_epsilon", known->epsilon, params.place_of("eps"));
    keys.push_back({"eps", sets("adam_epsilon")});
    keys.push_back({"bias_correction", only(true)});
    keys.push_back({"amsgrad", only(false)});
  }
  if (known->type == "adam") keys.push_back({"adam_w_mode", seen()});
  if (known->type == "adamw") keys.push_back({"adam_w_mode", only(true)});
  if (known->type == "sgd") {
    imply_arguments(params);
    for (const char* key : {"momentum", "dampening", "nesterov"}) keys.push_back({key, seen()});
  }
  params.walk(keys);
}

void read_scheduler(const Block& top) {
  const Block b = top.block("scheduler");
  if (b.json.empty() || b.json.value("type", Json()).is_null()) return;
  Reading& r = b.reading;
  b.walk({{"type", seen()}, {"params", seen()}});
  const std::string type = b.text("type", "");
  const std::vector<std::pair<std::string, std::string>> known{
      {"WarmupLR", "warmup_lr"},
      {"WarmupDecayLR", "warmup_decay_lr"},
      {"WarmupCosineLR", "warmup_cosine_lr"}};
  const auto at =
      std::find_if(known.begin(), known.end(), [&](const auto& k) { return k.first == type; });
  if (at == known.end())
    return r.cannot(fmt::format("hone does not have DeepSpeed's schedule '{}'", type),
                    b.place_of("type"),
                    "write WarmupLR, WarmupDecayLR or WarmupCosineLR, or remove the block and use "
                    "--lr_scheduler_type");
  r.imply("lr_scheduler_type", at->second, b.place_of("type"));
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
