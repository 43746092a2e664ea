// The blocks zero_optimization (ZeRO, arXiv 1910.02054; offload, arXiv 2101.06840 and 2104.07857)
// and activation_checkpointing.
#include "learn/train/deepspeed/block.h"

namespace hone::deepspeed {
namespace {

// offload_optimizer and offload_param: {"device": "cpu", "nvme_path": ...}.
void read_offload(const Block& b, const std::string& setting) {
  b.walk(
      {{"device", [&](Reading& r, const Json& v, const std::string& p) { r.imply(setting, v, p); }},
       {"nvme_path", sets("offload_optimizer_nvme_path")},
       {"pin_memory"},
       {"buffer_count"},
       {"buffer_size"},
       {"max_in_cpu"},
       {"pipeline_read"},
       {"pipeline_write"},
       {"pipeline"},
       {"fast_init"},
       {"ratio"},
       {"super_offload"},
       {"cpuadam_cores_perc"}});
}

Act offloads(const std::string& setting) {
  return [setting](Reading& r, const Json& v, const std::string& pointer) {
    if (v == Json(true)) r.imply(setting, "cpu", pointer);
  };
}

// DeepSpeed offloads weights at stage 3 alone, and optimizer states from stage 1.
void read_stage(const Block& b) {
  const double stage = b.number("stage", 0);
  if (stage != 0 && stage != 1 && stage != 2 && stage != 3)
    return b.reading.cannot(fmt::format("stage is {}: ZeRO has the stages 0, 1, 2 and 3", stage),
                            b.place_of("stage"), "write one of them");
  if (!b.at("stage").is_null())
    b.reading.imply("zero_stage", static_cast<int64_t>(stage), b.place_of("stage"));
  for (const auto& [key, least] : {std::pair("offload_optimizer", 1.0), {"offload_param", 3.0}})
    if (const Json& v = b.at(key);
        v.is_object() && v.value("device", Json("none")) != Json("none") && stage < least)
      b.reading.notices.push_back(
          fmt::format("{}: DeepSpeed offloads from stage {} on, hone at any stage",
                      b.reading.place(b.place_of(key)), least));
}

}  // namespace

void read_zero(const Block& b) {
  read_stage(b);
  const auto offload = [&](const std::string& key, const std::string& setting) {
    return Key{key, [&b, key, setting](Reading&, const Json&, const std::string&) {
                 read_offload(b.block(key), setting);
               }};
  };
  b.walk({{"stage", seen()},
          offload("offload_optimizer", "offload_optimizer_device"),
          offload("offload_param", "offload_param_device"),
          {"cpu_offload", offloads("offload_optimizer_device")},
          {"cpu_offload_param", offloads("offload_param_device")},
          {"cpu_offload_params", offloads("offload_param_device")},
          {"param_persistence_threshold", sets("offload_persistence_threshold")},
          {"stage3_param_persistence_threshold", sets("offload_persistence_threshold")},
          {"zenflow", refused("remove the key: ZenFlow updates some weights later than others")},
          {"cpu_offload_use_pin_memory"},
          {"contiguous_gradients"},
          {"reduce_scatter"},
          {"reduce_bucket_size"},
          {"use_multi_rank_bucket_allreduce"},
          {"allgather_partitions"},
          {"allgather_bucket_size"},
          {"allgather_sequential"},
          {"stage3_allgather_sequential"},
          {"overlap_comm"},
          {"compute_grad_norm"},
          {"load_from_fp32_weights"},
          {"elastic_checkpoint"},
          {"sub_group_size"},
          {"prefetch_bucket_size"},
          {"stage3_prefetch_bucket_size"},
          {"model_persistence_threshold"},
          {"stage3_model_persistence_threshold"},
          {"max_live_parameters"},
          {"stage3_max_live_parameters"},
          {"max_reuse_distance"},
          {"stage3_max_reuse_distance"},
          {"gather_16bit_weights_on_model_save"},
          {"stage3_gather_16bit_weights_on_model_save"},
          {"gather_fp16_weights_on_model_save"},
          {"stage3_gather_fp16_weights_on_model_save"},
          {"module_granularity_threshold"},
          {"stage3_module_granularity_threshold"},
          {"use_all_reduce_for_fetch_params"},
          {"stage3_use_all_reduce_for_fetch_params"},
          {"ignore_unused_parameters"},
          {"legacy_stage1"},
          {"round_robin_gradients"},
          {"parameter_alignment"},
          {"zero_hpz_partition_size",
           [](Reading& r, const Json& v, const std::string& pointer) {
             if (!v.is_number_integer() || v.get<int64_t>() > 1)
               r.cannot("ZeRO++'s second copy of weights in each machine is not supported", pointer,
                        "remove the key, or use mics_shard_size, which keeps all states in groups");
           }},
          {"zero_quantized_weights"},
          {"zero_quantized_nontrainable_weights"},
          {"zero_quantized_gradients"},
          {"mics_shard_size",
           [](Reading& r, const Json& v, const std::string& pointer) {
             if (v.is_number_integer() && v.get<int64_t>() > 0)
               r.imply("mics_shard_size", v, pointer);
           }},
          {"mics_hierarchical_params_gather"},
          {"memory_efficient_linear"},
          {"pipeline_loading_checkpoint"},
          {"override_module_apply"},
          {"log_trace_cache_warnings"},
          {"enable_sanity_checks"},
          {"save_muon_momentum_buffer_in_memory"},
          {"leaf_module"}});
}

void read_activation_checkpointing(const Block& b) {
  const auto checkpoints = [](Reading& r, const Json& v, const std::string& pointer) {
    if (v == Json(true) || (v.is_number() && v.get<double>() > 0))
      r.imply("gradient_checkpointing", true, pointer);
  };
  b.walk({{"partition_activations", checkpoints},
          {"number_checkpoints", checkpoints},
          {"cpu_checkpointing",
           [&](Reading& r, const Json& v, const std::string& pointer) {
             checkpoints(r, v, pointer);
             if (v == Json(true)) r.imply("offload_activation_device", "cpu", pointer);
           }},
          {"contiguous_memory_optimization"},
          {"synchronize_checkpoint_boundary"},
          {"profile"}});
}

}  // namespace hone::deepspeed
