#include "engine/backends/cuda/launch_ranks.h"

#include "engine/backends/cuda/launch_tables.h"
#include "engine/device/accesses.h"
#include "engine/device/rank_messages.h"

namespace hone::cuda {
namespace {

class GpuRankWork {
 public:
  GpuRankWork(RankWork work, CudaDevice& device, RankComm* comm, CUfunction sum)
      : work_(std::move(work)),
        messages_(work_),
        device_(device),
        comm_(comm),
        sum_(sum),
        begin_([this] { device_.begin_collective(&work_.name); }),
        end_([this] { device_.begin_collective(nullptr); }) {}
  GpuRankWork(const GpuRankWork&) = delete;

  void give(const KernelArgs& a) {
    auto& queue = static_cast<CudaQueue&>(a.queue);
    queue.run(begin_);
    for (const RankKept& k : work_.kept)
      if (std::byte* to = rank_result(a, k.own.tensor, k.begin); to != rank_operand(a, k.own))
        a.queue.copy(to, rank_operand(a, k.own), k.own.bytes);
    for (const RankRound& r : work_.rounds) {
      messages_.set(r, a);
      if (comm_ != nullptr) comm_->exchange(messages_.sends, messages_.receives, queue);
      for (const RankSum& s : r.sums) add(s, a, queue);
    }
    queue.run(end_);
  }

 private:
  void add(const RankSum& s, const KernelArgs& a, CudaQueue& queue) {
    if (s.own.bytes == 0) return;
    const int64_t size = size_of(work_.dtype);
    const void* own = rank_operand(a, s.own);
    const void* onto =
        s.onto < 0 ? nullptr : rank_operand(a, {static_cast<size_t>(s.onto), s.begin, s.own.bytes});
    const void* others = static_cast<const std::byte*>(a.workspace) + s.at;
    const void* present = work_.present < 0 ? nullptr : a.in[static_cast<size_t>(work_.present)];
    void* out = rank_result(a, s.own.tensor, s.begin);
    int64_t count = s.own.bytes / size, step = work_.block_bytes / size;
    int rank = static_cast<int>(work_.rank), ranks = static_cast<int>(work_.ranks);
    void* arguments[] = {&own, &onto, &others, &present, &out, &count, &step, &rank, &ranks};
    const Access accesses[] = {
        {own, s.own.bytes},
        {onto, onto == nullptr ? 0 : s.own.bytes},
        {others, work_.ranks == 1 ? 0 : work_.workspace_bytes() - work_.block_bytes + s.own.bytes},
        {present, present == nullptr ? 0 : int64_t{sizeof(int64_t)}},
        {out, s.own.bytes, true}};
    note_accesses(accesses);
    const Launch shape = Launch("").over(count);
    device_.keep(device_.driver().cuLaunchKernel(sum_, shape.grid_x, 1, 1, shape.block_x, 1, 1, 0,
                                                 queue.stream(), arguments, nullptr),
                 "cuLaunchKernel of sum_ranks");
  }

  const RankWork work_;
  RankMessages messages_;
  CudaDevice& device_;
  RankComm* const comm_;
  const CUfunction sum_;
  const std::function<void()> begin_, end_;
};

}  // namespace

bool joins_ranks(const NodeView& n) { return is_collective(n) && n.integer("ranks") > 1; }

Choice gpu_rank_choice(const NodeView& n) {
  return {"cuda." + n.node.op->name, rank_workspace_bytes(n)};
}

std::string rank_sum_kernel(const NodeView& n) {
  return n.node.op->gathers ? "" : kernel_of("sum_ranks", n.in(0).dtype);
}

Kernel gpu_rank_kernel(const NodeView& n, CudaDevice& device, RankComm* comm, CUfunction sum) {
  expect_rank_of(n, device);
  HONE_BUG_IF(comm == nullptr && joins_ranks(n), "{} has no communicator", n.node.op->name);
  const auto work = std::make_shared<GpuRankWork>(rank_work(n), device, comm, sum);
  const Choice choice = gpu_rank_choice(n);
  return {choice.id, choice.workspace_bytes, [work](const KernelArgs& a) { work->give(a); }, true};
}

}  // namespace hone::cuda
