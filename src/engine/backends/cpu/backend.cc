#include "engine/backends/cpu/backend.h"

#include <algorithm>

#include "base/core/text.h"
#include "engine/backends/cpu/backend_kernels.h"
#include "engine/backends/cpu/isa/isa.h"
#include "engine/device/errors.h"
#include "engine/device/host_device.h"
#include "engine/device/rank_kernels.h"

namespace hone {
namespace cpu {
namespace {

using Table = std::map<std::string, Makers, std::less<>>;

const Table& table() {
  static const Table all = [] {
    Table t;
    for (const Makers& list :
         {matrix_makers(), attention_makers(), disentangled_makers(), image_makers(), row_makers(),
          group_makers(), grouped_makers(), update_makers(), recurrent_makers(), loop_makers()})
      for (const Maker& m : list) t[std::string(m.op)].push_back(m);
    return t;
  }();
  return all;
}

bool has_half(const NodeView& n, const Values& among) {
  return std::any_of(among.begin(), among.end(), [&](ValueId v) {
    return v != kNoValue && size_of(n.program.type(v).dtype) == 2;
  });
}

Result<Kernel> make_direct(const NodeView& n, int threads) {
  auto found = table().find(n.node.op->name);
  if (found == table().end()) return declined(n, "no kernel of its own");
  // The reason of the first is the better one: it is the fastest kernel.
  Result<Kernel> first = found->second[0].make(n, threads);
  for (size_t i = 1; !first && i < found->second.size(); ++i)
    if (Result<Kernel> other = found->second[i].make(n, threads)) return other;
  return first;
}

// Makers look at the types of operands: results in 16 bits are made through f32 where attribute `as`
// asks for them.
Result<Kernel> make(const NodeView& n, int threads) {
  const bool rounds_results =
      n.node.op->attr("as") != nullptr && !n.text("as").empty() && has_half(n, n.node.out);
  Result<Kernel> direct =
      rounds_results ? declined(n, "results are in f32") : make_direct(n, threads);
  if (direct || !(has_half(n, n.node.in) || has_half(n, n.node.out))) return direct;
  Result<Kernel> through = through_f32(n, threads, make_direct);
  return through ? std::move(through) : std::move(direct);
}

Status use_isa(const std::string& name) {
  std::vector<std::string> here;
  for (Isa i : {Isa::baseline, Isa::avx2, Isa::avx512, Isa::avx512_bf16, Isa::amx}) {
    if (!isa_supported(i)) continue;
    here.emplace_back(isa_name(i));
    if (name != here.back()) continue;
    set_isa(i);
    return Ok{};
  }
  return Error(err::kNoBackend, fmt::format("this processor has no instruction set '{}'", name))
      .todo(fmt::format("it has {}", join(here, ", ")));
}

class CpuBackend : public Backend {
 public:
  explicit CpuBackend(int threads) : device_(cpu_spec(threads)) {}
  std::string_view name() const override { return "cpu"; }
  Result<Choice> choose(const NodeView& n) const override { return choose_cpu(n, device_.spec()); }
  Result<Kernel> kernel(const NodeView& n) const override {
    if (n.node.op->traffic) return rank_kernel(n, &device_);
    return make(n, device_.spec().threads);
  }
  Device& device() const override { return device_; }
  std::string description() const override {
    return fmt::format("{}, {} threads", isa_name(isa()), device_.spec().threads);
  }

 private:
  mutable HostDevice device_;  // a backend is constant, its device is what changes
};

}  // namespace

Error declined(const NodeView& n, const std::string& why) {
  return Error(err::kDeclined, fmt::format("cpu: {}: {}", n.node.op->name, why));
}

}  // namespace cpu

DeviceSpec cpu_spec(int threads) {
  DeviceSpec s = host_spec("cpu", threads);
  s.host_lane = HostLane::one_place;
  s.isa = cpu::isa_name(cpu::isa());
  s.multiplies_bf16 = cpu::bf16_is_fast();
  s.rows_apart = true;
  return s;
}

Result<Choice> choose_cpu(const NodeView& n, const DeviceSpec& spec) {
  if (n.node.op->traffic) return rank_choice(n);
  Kernel k = HONE_TRY(cpu::make(n, spec.threads));
  return Choice{std::move(k.id), k.workspace_bytes};
}

Result<std::unique_ptr<Backend>> open_cpu_backend(int threads, const std::string& isa) {
  if (!isa.empty()) HONE_TRY(cpu::use_isa(isa));
  if (const std::string wanted = cpu::wanted_isa(); !wanted.empty() && !cpu::isa_is_known(wanted))
    return Error(err::kNoBackend, fmt::format("there is no instruction set '{}'", wanted))
        .at("HONE_CPU_ISA")
        .todo("unset it for the best of this processor; known are " + cpu::isa_names());
  return std::unique_ptr<Backend>(std::make_unique<cpu::CpuBackend>(threads));
}

}  // namespace hone
