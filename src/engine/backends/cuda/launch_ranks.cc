#include "engine/backends/cuda/launch_ranks.h"

#include "engine/backends/cuda/launch_tables.h"
#include "engine/device/accesses.h"
#include "engine/device/rank_work.h"

namespace hone::cuda {
namespace {

class GpuRankWork {
 public:
  GpuRankWork(RankWork work, CudaDevice& device, RankComm* comm, CUfunction sum)
      : work_(std::move(work)),
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
      if (std::byte* to = result(a, k.own.tensor, k.begin); to != operand(a, k.own))
        a.queue.copy(to, operand(a, k.own), k.own.bytes);
    for (const RankRound& r : work_.rounds) {
      exchange(r, a, queue);
      for (const RankSum& s : r.sums) add(s, a, queue);
    }
    queue.run(end_);
  }

 private:
  static const std::byte* operand(const KernelArgs& a, const RankPiece& p) {
    return static_cast<const std::byte*>(a.in[p.tensor]) + p.begin;
  }
  static std::byte* result(const KernelArgs& a, size_t tensor, int64_t begin) {
    return static_cast<std::byte*>(a.out[tensor]) + begin;
  }

  void exchange(const RankRound& r, const KernelArgs& a, CudaQueue& queue) {
    sends_.clear();
    receives_.clear();
    for (const RankSend& s : r.sends) {
      const std::byte* from =
          s.of_result ? result(a, s.piece.tensor, s.piece.begin) : operand(a, s.piece);
      sends_.push_back({s.to, {from, static_cast<size_t>(s.piece.bytes)}});
    }
    for (const RankReceive& from : r.receives) {
      std::byte* to = from.scratch >= 0 ? static_cast<std::byte*>(a.workspace) + from.scratch
                                        : result(a, from.piece.tensor, from.piece.begin);
      receives_.push_back({from.from, {to, static_cast<size_t>(from.piece.bytes)}});
    }
    if (comm_ != nullptr) comm_->exchange(sends_, receives_, queue);
  }

  void add(const RankSum& s, const KernelArgs& a, CudaQueue& queue) {
    if (s.own.bytes == 0) return;
    const int64_t size = size_of(work_.dtype);
    const void* own = operand(a, s.own);
    const void* onto =
        s.onto < 0 ? nullptr : operand(a, {static_cast<size_t>(s.onto), s.begin, s.own.bytes});
    const void* others = static_cast<const std::byte*>(a.workspace) + s.at;
    const void* present = work_.present < 0 ? nullptr : a.in[static_cast<size_t>(work_.present)];
    void* out = result(a, s.own.tensor, s.begin);
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
  CudaDevice& device_;
  RankComm* const comm_;
  const CUfunction sum_;
  const std::function<void()> begin_, end_;
  std::vector<Send> sends_;
  std::vector<Receive> receives_;
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
