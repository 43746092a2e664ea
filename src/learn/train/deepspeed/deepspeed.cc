#include "learn/train/deepspeed/deepspeed.h"

#include <cmath>

#include "base/core/text.h"
#include "base/ranks/world.h"
#include "learn/train/deepspeed/block.h"

namespace hone {
namespace deepspeed {
namespace {

constexpr double kNoLeastScale = 1e-30;  // the least that --min_loss_scale takes

// fp16: on or off, and the loss scale (DynamicLossScaler of deepspeed.runtime.fp16).
void read_fp16(const Block& top) {
  const Block b = top.block("fp16");
  Reading& r = b.reading;
  if (const Json& v = b.at("enabled"); !v.is_null())
    r.imply("fp16", b.flag("enabled", false), b.place_of("enabled"));
  const bool on = top.has("fp16") && r.schema.at("fp16").value() == OrderedJson(true);
  const auto of_scale = [&](const std::string& key) { return Key{key, on ? sets(key) : nullptr}; };
  const auto least = [](Reading& reading, const Json& v, const std::string& pointer) {
    const bool none = v.is_number() && v.get<double>() == 0;
    reading.imply("min_loss_scale", none ? Json(kNoLeastScale) : v, pointer);
  };
  if (on)
    for (const auto& [key, value] : {std::pair("loss_scale_window", 1000),
                                     std::pair("hysteresis", 2), std::pair("min_loss_scale", 1)})
      if (!b.has(key)) r.imply_default(key, value, b.place_of(key));
  b.walk(
      {{"enabled", seen()},
       of_scale("loss_scale"),
       of_scale("initial_scale_power"),
       of_scale("loss_scale_window"),
       of_scale("hysteresis"),
       {"min_loss_scale", on ? Act(least) : nullptr},
       {"auto_cast", refused("remove the key: hone casts by itself")},
       of_scale("consecutive_hysteresis"),
       {"fp16_master_weights_and_grads", refused("remove the key: weights are kept in float32")}});
}

void read_bf16(const Block& top, const std::string& name) {
  const Block b = top.block(name);
  if (!b.at("enabled").is_null())
    b.reading.imply("bf16", b.flag("enabled", false), b.place_of("enabled"));
  // Both at once is --dtype bfloat16; DeepSpeed rounds to the nearest.
  const std::string weights = "bf16_master_weights_and_grads", states = "bf16_optimizer_states";
  const bool pure = b.flag(weights, false) && b.flag(states, false);
  if (pure) {
    b.reading.imply("dtype", "bfloat16", b.place_of(weights));
    b.reading.imply_default("bf16_stochastic_round", false, b.place_of(weights));
  }
  b.walk({{"enabled", seen()},
          {"immediate_grad_update"},
          {"check_grad_overflow"},
          {"check_overflow"},
          {weights, pure ? seen() : refused("add \"bf16_optimizer_states\": true, or remove it")},
          {states,
           pure ? seen() : refused("add \"bf16_master_weights_and_grads\": true, or remove it")}});
}

// train_batch_size = train_micro_batch_size_per_gpu x gradient_accumulation_steps x ranks.
void read_batch(const Block& top) {
  Reading& r = top.reading;
  const std::string rows = "per_device_train_batch_size", times = "gradient_accumulation_steps";
  const auto whole = [&](const std::string& key) -> int64_t {
    const double v = top.number(key, 0);
    if (v == 0 && top.at(key).is_null()) return 0;
    if (v >= 1 && v <= 1048576 && v == std::floor(v)) return static_cast<int64_t>(v);
    if (top.at(key).is_number())
      r.cannot(fmt::format("{} is {}", key, dump_json(top.at(key))), top.place_of(key),
               "write a whole number from 1 to 1048576, or \"auto\"");
    return 0;
  };
  const int64_t micro = whole("train_micro_batch_size_per_gpu"), steps = whole(times),
                batch = whole("train_batch_size");
  if (micro > 0) r.imply(rows, micro, top.place_of("train_micro_batch_size_per_gpu"));
  if (steps > 0) r.imply(times, steps, top.place_of(times));
  if (batch == 0) return;
  const std::string where = top.place_of("train_batch_size");
  const bool has_rows = r.schema.given(rows), has_times = r.schema.given(times);
  const int64_t rows_now = r.schema.at(rows).value().get<int64_t>(),
                times_now = r.schema.at(times).value().get<int64_t>();
  const Result<World> world = read_world();  // its faults are the command's
  const int64_t ranks = world.ok() ? world->ranks : 1;
  const int64_t product = (has_rows ? rows_now : 1) * (has_times ? times_now : 1) * ranks;
  std::vector<std::string> factors;
  if (has_rows) factors.push_back(rows);
  if (has_times) factors.push_back(times);
  if (ranks > 1) factors.push_back(fmt::format("{} ranks", ranks));
  if (batch % product != 0 || (has_rows && has_times && batch != product))
    return r.fail(
        Error(err::kDeepSpeedValue, fmt::format("train_batch_size is {}, and {} are {}", batch,
                                                join(factors, " x "), product))
            .at(r.place(where))
            .at(has_rows || has_times
                    ? fmt::format("{} ({})", r.schema.origin(has_rows ? rows : times).place,
                                  has_rows ? rows_now : times_now)
                    : fmt::format("{} ranks", ranks))
            .todo("give the product, or \"auto\""));
  if (!has_rows) r.imply(rows, batch / product, where);
  if (!has_times) r.imply(times, has_rows ? batch / product : 1, where);
}

void read_top(const Block& top) {
  Reading& r = top.reading;
  read_batch(top);
  // The scheduler first: its rate counts.
  read_scheduler(top);
  read_optimizer(top);
  read_fp16(top);
  for (const char* name : {"bf16", "bfloat16"}) read_bf16(top, name);
  top.block("data_types").walk({{"grad_accum_dtype", sets("grad_accum_dtype")}});
  read_zero(top.block("zero_optimization"));
  read_activation_checkpointing(top.block("activation_checkpointing"));
  if (!top.has("gradient_clipping"))
    r.imply_default("max_grad_norm", 0.0, top.place_of("gradient_clipping"));
  const Act instead = refused("remove the block: hone has nothing in its place");
  top.walk({{"train_batch_size", seen()},
            {"train_micro_batch_size_per_gpu", seen()},
            {"gradient_accumulation_steps", seen()},
            {"scheduler", seen()},
            {"optimizer", seen()},
            {"fp16", seen()},
            {"bf16", seen()},
            {"bfloat16", seen()},
            {"zero_optimization", seen()},
            {"activation_checkpointing", seen()},
            {"gradient_clipping", sets("max_grad_norm")},
            {"amp", refused("hone has no Apex: use fp16 or bf16")},
            {"torch_autocast", refused("use fp16 or bf16")},
            {"elasticity", refused("one process trains: write the batch sizes")},
            {"autotuning", refused("remove the block: hone plan shows what fits")},
            {"compression_training", instead},
            {"data_efficiency", instead},
            {"curriculum_learning", instead},
            {"progressive_layer_drop", instead},
            {"sparse_attention", instead},
            {"quantize_training", instead},
            {"eigenvalue", instead},
            {"hybrid_engine", instead},
            {"zero_allow_untested_optimizer"},
            {"zero_force_ds_cpu_optimizer"},
            {"steps_per_print"},
            {"wall_clock_breakdown"},
            {"memory_breakdown"},
            {"dump_state"},
            {"logging"},
            {"log_level"},
            {"flops_profiler"},
            {"comms_logger"},
            {"tensorboard"},
            {"wandb"},
            {"comet"},
            {"csv_monitor"},
            {"monitor_config"},
            {"communication_data_type"},
            {"seq_parallel_communication_data_type"},
            {"prescale_gradients"},
            {"gradient_predivide_factor"},
            {"gradient_allreduce_op"},
            {"sparse_gradients"},
            {"disable_allgather"},
            {"disable_python_gc"},
            {"vocabulary_size"},
            {"dataloader_drop_last"},
            {"data_types", seen()},
            {"aio"},
            {"checkpoint"},
            {"nebula"},
            {"compile"},
            {"pipeline"},
            {"use_data_before_expert_parallelism"},
            {"tensor_parallel"}});
}

}  // namespace
}  // namespace deepspeed

void follow_deepspeed(Schema& schema, std::vector<std::string>& notices,
                      std::vector<Error>& errors) {
  const OrderedJson given = schema.at("deepspeed").value();
  if (given == OrderedJson("")) return;
  deepspeed::Reading reading{.schema = schema,
                             .notices = notices,
                             .errors = errors,
                             .name = schema.origin("deepspeed").place + " deepspeed",
                             .places = {}};
  Json json;
  if (given.is_string()) {
    reading.name = given.get<std::string>();
    Result<Json> read = read_json_file(reading.name, &reading.places);
    if (!read.ok()) return errors.push_back(read.error().at("--deepspeed"));
    json = std::move(*read);
  } else {
    json = *parse_json(dump_json(given), "deepspeed");
  }
  if (!json.is_object())
    return errors.push_back(
        Error(err::kDeepSpeedValue, "a DeepSpeed configuration is an object {...}")
            .at(reading.name)
            .todo("see https://www.deepspeed.ai/docs/config-json/"));
  deepspeed::read_top({reading, json, ""});
  if (!reading.without_effect.empty())
    notices.push_back(fmt::format("{}: without effect here: {}", reading.name,
                                  join(reading.without_effect, ", ")));
}

}  // namespace hone
