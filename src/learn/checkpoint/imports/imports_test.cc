#include "learn/checkpoint/imports/imports.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <functional>

#include "learn/checkpoint/imports/errors.h"
#include "learn/checkpoint/safetensors/safetensors.h"
#include "learn/checkpoint/torch/errors.h"
#include "learn/pickle/errors.h"

namespace hone {
namespace {

using testing::HasSubstr;

const std::string kPeers = HONE_SOURCE_DIR "/tests/goldens/peer_checkpoints/";

std::vector<float> imported_floats(const WeightSource& source, const std::string& name,
                                   int64_t first = 0, int64_t count = -1) {
  if (count < 0) count = source.find(name)->type.count();
  std::vector<float> x(static_cast<size_t>(count));
  const Status done =
      source.read_range(name, DType::f32, first, std::as_writable_bytes(std::span(x)));
  EXPECT_TRUE(done.ok()) << done.error().text();
  return x;
}

struct Peer {
  std::string place, format, prefix;
  double tolerance = 1e-6;
};
void PrintTo(const Peer& p, std::ostream* out) { *out << p.place; }

class Imports : public testing::TestWithParam<Peer> {};

// The weights and moments of plain PyTorch at that step, whoever saved them.
TEST_P(Imports, HoldWhatPlainPyTorchHolds) {
  const Peer& peer = GetParam();
  const std::string path = kPeers + peer.place;
  ASSERT_TRUE(is_import(path).value());
  const auto opened = open_import(path);
  ASSERT_TRUE(opened.ok()) << opened.error().text();
  const ImportedRun& run = *opened;
  EXPECT_EQ(run.format, peer.format);
  EXPECT_EQ(run.steps, 4);
  EXPECT_EQ(run.updates, 4);
  EXPECT_EQ(run.arguments, Json({{"learning_rate", 0.01},
                                 {"weight_decay", 0.05},
                                 {"adam_beta1", 0.9},
                                 {"adam_beta2", 0.999},
                                 {"adam_epsilon", 1e-8}}));
  ASSERT_NE(run.optimizer, nullptr);
  const auto after = open_safetensors(kPeers + "after.safetensors").value();
  int64_t states = 0;
  for (const TensorInfo& t : after->tensors()) {
    const size_t dot = t.name.find('.');
    const bool moment = t.name.starts_with("exp_avg");
    const WeightSource& from = moment ? *run.optimizer : *run.weights;
    const std::string name = moment
                                 ? t.name.substr(0, dot + 1) + peer.prefix + t.name.substr(dot + 1)
                                 : peer.prefix + t.name;
    states += moment;
    ASSERT_NE(from.find(name), nullptr) << name;
    EXPECT_EQ(from.find(name)->type.shape, t.type.shape) << name;
    const std::vector<float> want = imported_floats(*after, t.name),
                             got = imported_floats(from, name);
    double largest = 1e-12, worst = 0;
    for (size_t i = 0; i < want.size(); ++i) {
      largest = std::max<double>(largest, std::abs(want[i]));
      worst = std::max<double>(worst, std::abs(want[i] - got[i]));
    }
    // The gradient of the keys' bias is rounding alone, which Adam makes as large as any other.
    const bool rounding = t.name.ends_with("c_attn.bias");
    EXPECT_LT(worst / largest, rounding ? 0.2 : peer.tolerance) << name;
    // Any part of it has the values of the whole.
    const auto count = static_cast<int64_t>(got.size());
    for (const int64_t first : {int64_t{0}, count / 3, count / 2}) {
      const std::vector<float> part = imported_floats(from, name, first, count / 2);
      EXPECT_TRUE(std::equal(part.begin(), part.end(), got.begin() + first)) << name;
    }
  }
  EXPECT_GE(static_cast<int64_t>(run.optimizer->tensors().size()), states);
}

INSTANTIATE_TEST_SUITE_P(
    All, Imports,
    testing::Values(Peer{"deepspeed_zero1", "DeepSpeed ZeRO-1 of 2 ranks", ""},
                    Peer{"deepspeed_zero2", "DeepSpeed ZeRO-2 of 2 ranks", ""},
                    Peer{"deepspeed_zero3", "DeepSpeed ZeRO-3 of 2 ranks", ""},
                    Peer{"deepspeed_zero2_bf16", "DeepSpeed ZeRO-2 of 2 ranks", "", 0.05},
                    Peer{"deepspeed_universal", "DeepSpeed's universal form", ""},
                    Peer{"dcp", "torch.distributed.checkpoint", ""},
                    Peer{"trainer_fsdp/checkpoint-4", "Accelerate with FSDP", ""},
                    Peer{"trainer_fsdp_full/checkpoint-4", "Accelerate with FSDP", ""},
                    Peer{"lightning/epoch=0-step=4.ckpt", "Lightning", "model."}));

// A checkpoint in memory, to damage it.
class DamagedImport {
 public:
  explicit DamagedImport(const std::string& place) {
    for (const auto& e : std::filesystem::recursive_directory_iterator(kPeers + place))
      if (e.is_regular_file())
        put(std::filesystem::relative(e.path(), kPeers + place).string(),
            file_store().read(e.path().string()).value());
  }
  void put(const std::string& name, std::string_view bytes) {
    const std::string path = "/c/" + name;
    ASSERT_TRUE(store_->make_dirs(path.substr(0, path.rfind('/'))).ok());
    ASSERT_TRUE(store_->write(path, bytes).ok());
  }
  std::string get(const std::string& name) { return store_->read("/c/" + name).value(); }
  void remove(const std::string& name) { ASSERT_TRUE(store_->remove("/c/" + name).ok()); }
  void copy(const std::string& from, const std::string& to) { put(to, get(from)); }

  // The first error of opening it and reading everything; "": none.
  std::string error() {
    const auto run = open_import("/c", *store_);
    if (!run.ok()) return run.error().text();
    for (const WeightSource* source : {run->weights.get(), run->optimizer.get()})
      for (const TensorInfo& t : source->tensors()) {
        std::vector<std::byte> bytes(static_cast<size_t>(t.type.count()) * sizeof(float));
        const Status read = source->read(t.name, DType::f32, bytes);
        if (!read.ok()) return read.error().text();
      }
    return "";
  }

 private:
  std::unique_ptr<Store> store_ = make_memory_store();
};

TEST(Imports, NameTheFileOfARankThatIsMissing) {
  DamagedImport last("deepspeed_zero2");
  last.remove("global_step4/zero_pp_rank_1_mp_rank_00_optim_states.pt");
  EXPECT_THAT(last.error(), HasSubstr("H2214"));
  EXPECT_THAT(last.error(), HasSubstr("has files of 1 ranks, the run had 2"));
  DamagedImport first("deepspeed_zero3");
  first.remove("global_step4/zero_pp_rank_0_mp_rank_00_optim_states.pt");
  EXPECT_THAT(first.error(),
              HasSubstr("has 'zero_pp_rank_1_mp_rank_00_optim_states.pt' and no file of rank 0"));
  DamagedImport shard("dcp");
  shard.remove("__1_0.distcp");
  EXPECT_THAT(shard.error(), HasSubstr("'/c/__1_0.distcp' is missing"));
  DamagedImport universal("deepspeed_universal");
  universal.remove("global_step4_universal/zero/transformer.ln_f.bias/fp32.pt");
  EXPECT_THAT(universal.error(), HasSubstr("/zero/transformer.ln_f.bias' has no fp32.pt"));
}

TEST(Imports, NoticeFilesThatAreCutShort) {
  DamagedImport shard("trainer_fsdp/checkpoint-4");
  const std::string file = "pytorch_model_fsdp_0/__0_0.distcp";
  shard.put(file, shard.get(file).substr(0, 20000));
  EXPECT_THAT(shard.error(), HasSubstr("'/c/pytorch_model_fsdp_0/__0_0.distcp' has 20000 bytes"));
  DamagedImport zero("deepspeed_zero1");
  const std::string states = "global_step4/zero_pp_rank_0_mp_rank_00_optim_states.pt";
  zero.put(states, zero.get(states).substr(0, 9000));
  EXPECT_THAT(zero.error(), HasSubstr("H2207"));
}

TEST(Imports, RefuseFormsThatAreNotSupportedByName) {
  const std::string states = "global_step4/mp_rank_00_model_states.pt";
  DamagedImport tensor("deepspeed_zero1");
  tensor.copy(states, "global_step4/mp_rank_01_model_states.pt");
  EXPECT_THAT(tensor.error(), HasSubstr("H2215"));
  EXPECT_THAT(tensor.error(), HasSubstr("several ranks of tensor parallelism"));
  DamagedImport stages("deepspeed_zero1");
  stages.copy(states, "global_step4/layer_00-model_states.pt");
  EXPECT_THAT(stages.error(), HasSubstr("a pipeline of several stages"));
  DamagedImport experts("deepspeed_zero1");
  experts.copy(states, "global_step4/layer_0_expert_1_mp_rank_00_model_states.pt");
  EXPECT_THAT(experts.error(), HasSubstr("a mixture of experts"));
  DamagedImport local("deepspeed_zero1");
  local.remove("latest");
  for (const char* name : {"mp_rank_00_model_states", "zero_pp_rank_0_mp_rank_00_optim_states",
                           "zero_pp_rank_1_mp_rank_00_optim_states"})
    local.remove(fmt::format("global_step4/{}.pt", name));
  EXPECT_THAT(local.error(), HasSubstr("is not a training checkpoint that hone knows"));
  local.put("pytorch_model_fsdp_rank0.bin", "x");
  EXPECT_THAT(local.error(), HasSubstr("has flat parameters of each rank, without names"));
}

// Two ranks of files in Megatron's form hold the weights and moments of plain PyTorch; tables are padded.
TEST(MegatronImport, JoinsTheRanksUnderTransformersNames) {
  const auto opened = open_import(kPeers + "../megatron_checkpoints/gpt2");
  ASSERT_TRUE(opened.ok()) << opened.error().text();
  EXPECT_EQ(opened->format, "Megatron-LM of 2 ranks");
  EXPECT_EQ(opened->steps, 4);
  EXPECT_EQ(opened->updates, 4);
  EXPECT_EQ(opened->padded, std::set<std::string>{"transformer.wte.weight"});
  const auto after = open_safetensors(kPeers + "after.safetensors").value();
  for (const TensorInfo& t : after->tensors()) {
    const WeightSource& from =
        t.name.starts_with("exp_avg") ? *opened->optimizer : *opened->weights;
    const TensorInfo* found = from.find(t.name);
    ASSERT_NE(found, nullptr) << t.name;
    EXPECT_EQ(found->type.dtype, DType::f32) << t.name;  // not the weights in bf16
    Shape shape = found->type.shape;
    if (t.name.ends_with("wte.weight")) shape[0] = t.type.shape[0];
    EXPECT_EQ(shape, t.type.shape) << t.name;
    const std::vector<float> want = imported_floats(*after, t.name);
    const auto count = static_cast<int64_t>(want.size());
    EXPECT_EQ(imported_floats(from, t.name, 0, count), want) << t.name;
    // Any part of it has the values of the whole.
    const std::vector<float> part = imported_floats(from, t.name, count / 3, count / 2);
    EXPECT_TRUE(std::equal(part.begin(), part.end(), want.begin() + count / 3)) << t.name;
  }
}

TEST(MegatronImport, RefusesOtherFormsByName) {
  const std::string place = "../megatron_checkpoints/gpt2";
  const std::string rank = "iter_0000004/mp_rank_01/model_optim_rng.pt";
  DamagedImport missing(place);
  missing.remove(rank);
  EXPECT_THAT(missing.error(), HasSubstr("has no file of rank 1"));
  DamagedImport stages(place);
  stages.copy(rank, "iter_0000004/mp_rank_00_001/model_optim_rng.pt");
  EXPECT_THAT(stages.error(), HasSubstr("H2215"));
  EXPECT_THAT(stages.error(), HasSubstr("is of several stages of a pipeline"));
  DamagedImport later(place);
  later.put("latest_checkpointed_iteration.txt", "8");
  EXPECT_THAT(later.error(), HasSubstr("names the folder 'iter_0000008', which is not there"));
  later.put("latest_checkpointed_iteration.txt", "../4");
  EXPECT_THAT(later.error(), HasSubstr("names the iteration '../4'"));
  later.put("latest_checkpointed_iteration.txt", "9");
  later.put("iter_0000009/__0_0.distcp", "x");
  EXPECT_THAT(later.error(), HasSubstr("has no folders mp_rank_*"));
  DamagedImport other(place);
  for (const char* file : {"iter_0000004/mp_rank_00/model_optim_rng.pt", rank.c_str()}) {
    std::string bytes = other.get(file);
    for (size_t at; (at = bytes.find("linear_fc2.bias")) != std::string::npos;)
      bytes.replace(at, 15, "router_12.bias_");
    other.put(file, bytes);
  }
  EXPECT_THAT(other.error(), HasSubstr("H22"));
}

// `latest` names a folder beside it and nothing else.
TEST(Imports, DoNotLeaveTheirFolder) {
  for (const char* name : {"../other", "global_step5", "", ".hidden", "a/b"}) {
    DamagedImport damaged("deepspeed_zero2");
    damaged.put("latest", name);
    EXPECT_THAT(damaged.error(), HasSubstr("H2214")) << name;
  }
  DamagedImport shard("dcp");
  std::string metadata = shard.get(".metadata");
  const size_t at = metadata.find("__1_0.distcp");
  ASSERT_NE(at, std::string::npos);
  metadata.replace(at, 4, "../.");
  shard.put(".metadata", metadata);
  EXPECT_THAT(shard.error(),
              HasSubstr("names the file '../.0.distcp', which is not in its folder"));
}

// A class that has no place there is refused by name; nothing of it runs.
TEST(Imports, RefuseOtherClasses) {
  DamagedImport shard("dcp");
  std::string metadata = shard.get(".metadata");
  for (size_t at; (at = metadata.find("MetadataIndex")) != std::string::npos;)
    metadata.replace(at, 13, "os_systemcall");
  shard.put(".metadata", metadata);
  EXPECT_THAT(shard.error(), HasSubstr("H2703"));
  EXPECT_THAT(shard.error(), HasSubstr("torch.distributed.checkpoint.metadata.os_systemcall"));
}

}  // namespace
}  // namespace hone
