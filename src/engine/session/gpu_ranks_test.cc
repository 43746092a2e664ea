// Collectives on the emulated GPU of rank 0, whose other ranks are CPUs in threads: the same bits, and mistakes in
// the order of streams are found.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "engine/backends/cpu/backend.h"
#include "engine/backends/cuda/backend.h"
#include "engine/backends/cuda/emulator/emulated.h"
#include "engine/backends/cuda/emulator/fake_driver.h"
#include "engine/backends/cuda/emulator/fake_nccl.h"
#include "engine/backends/cuda/emulator/kernels.h"
#include "engine/comm/collectives.h"
#include "engine/comm/engines/engines_test.h"
#include "engine/comm/errors.h"
#include "engine/comm/loopback.h"
#include "engine/device/interpret.h"
#include "engine/graph/verify.h"
#include "engine/ops/ops.h"
#include "engine/session/session.h"

namespace hone {
namespace {

using cuda::Execution;
using testing::HasSubstr;

// A rank whose messages are exchanged as those of a fake communicator.
class CarriedGroup : public Group {
 public:
  explicit CarriedGroup(Group& carrier)
      : Group("carried", carrier.rank(), carrier.ranks()), carrier_(carrier) {}

 protected:
  Status transfer(std::span<const Send> sends, std::span<const Receive> receives) override {
    return cuda::carried_exchange(carrier_, sends, receives);
  }
  void wake() override { carrier_.stop("the test ends"); }

 private:
  Group& carrier_;
};

const Shape kShapes[] = {{7, 3}, {5}, {12, 2, 2}};

// Sums of products, so that collectives wait for computation and are waited for.
Program gpu_ranks_program(DType dtype, const Share& share) {
  Program p(op_table(), "collectives");
  Builder b(p);
  Values x;
  std::vector<int64_t> rows;
  for (const Shape& shape : kShapes) {
    const ValueId in = p.add_input(fmt::format("x{}", x.size()), {dtype, shape});
    x.push_back(ops::mul(b, in, in));
    rows.push_back(shape[0]);
  }
  const auto wait_all = [&](const Values& values) {
    Values done;
    for (const ValueId v : values) done.push_back(ops::wait(b, v));
    return done;
  };
  b.set_scope("sums");
  const Values all = wait_all(ops::all_reduce(b, x, share));
  const Values parts = wait_all(ops::reduce_scatter(b, x, {share}));
  const Values whole = wait_all(ops::all_gather(b, parts, rows, {share}));
  for (size_t i = 0; i < all.size(); ++i) {
    p.outputs.push_back({fmt::format("all{}", i), ops::mul(b, all[i], all[i])});
    p.outputs.push_back({fmt::format("whole{}", i), ops::add(b, whole[i], whole[i])});
  }
  return p;
}

void put_gpu_numbers(std::span<std::byte> to, const Type& type, uint64_t rank) {
  std::vector<double> values;
  for (int64_t k = 0; k < type.count(); ++k)
    values.push_back(static_cast<double>((k * 37 + static_cast<int64_t>(rank) * 101) % 91 - 40) /
                     7);
  const Tensor t = Tensor::of(type, values);
  std::copy(t.bytes.begin(), t.bytes.end(), reinterpret_cast<uint8_t*>(to.data()));
}

// The bytes of all outputs of three runs, of which the last replay a graph on a GPU.
Result<std::string> run_collectives(Backend& backend, Group& group, DType dtype) {
  backend.device().set_group(&group);
  std::vector<Program> programs;
  programs.push_back(gpu_ranks_program(dtype, {group.rank(), group.ranks()}));
  HONE_TRY(verify(programs[0]));
  Session s = HONE_TRY(Session::compile(std::move(programs), backend));
  HONE_TRY(s.allocate());
  std::string bytes;
  for (uint64_t run = 0; run < 3; ++run) {
    for (size_t i = 0; i < std::size(kShapes); ++i)
      put_gpu_numbers(s.input_bytes(0, fmt::format("x{}", i)), {dtype, kShapes[i]},
                      static_cast<uint64_t>(group.rank()) + run);
    s.run(0);
    HONE_TRY(s.check());
    for (const auto& out : s.programs()[0].outputs) {
      const auto got = s.output_bytes(0, out.name);
      bytes.append(reinterpret_cast<const char*>(got.data()), got.size());
    }
  }
  EXPECT_EQ(backend.device().collective(), "") << "none is being done";
  return bytes;
}

// Waits of streams for events.
std::atomic<int> waits_seen = 0;
cuda::CUresult (*real_wait)(cuda::CUstream, cuda::CUevent, unsigned) = nullptr;

struct GpuRun {
  std::string bytes;
  std::vector<std::string> findings;
  std::string error;
};

GpuRun run_on_gpu(LoopbackWorld& world, Execution execution, DType dtype, bool graphs,
                  bool leave_waits_out = false) {
  cuda::add_emulated_kernels();
  GpuRun run;
  cuda::FakeDriver fake({.execution = execution, .seed = 3});
  cuda::Driver driver = fake.table();
  if (leave_waits_out) {
    real_wait = driver.cuStreamWaitEvent;
    driver.cuStreamWaitEvent = [](cuda::CUstream stream, cuda::CUevent event, unsigned flags) {
      return ++waits_seen == 1 ? cuda::CUDA_SUCCESS : real_wait(stream, event, flags);
    };
    waits_seen = 0;
  }
  cuda::fake_nccl_carrier = &world.group(0);
  {
    const auto backend =
        make_cuda_backend(driver, 0, cuda::emulated_modules,
                          {.nccl = [](Group&) -> Result<cuda::Nccl> { return cuda::fake_nccl(); },
                           .graphs = graphs,
                           .threads = 1})
            .value();
    const auto bytes = run_collectives(*backend, world.group(0), dtype);
    if (bytes.ok())
      run.bytes = *bytes;
    else
      run.error = bytes.error().text();
  }
  run.findings = fake.finish();
  cuda::fake_nccl_carrier = nullptr;
  return run;
}

// The GPU's rank gives the id to the others before their first collective.
Status run_on_cpu(LoopbackWorld& world, int rank, DType dtype, std::string* bytes) {
  cuda::fake_driver_skips_thread = true;
  std::vector<std::byte> id(sizeof(cuda::ncclUniqueId));
  const std::span<std::byte> whole = id;
  HONE_TRY(broadcast(world.group(rank), 0, {&whole, 1}));
  CarriedGroup group(world.group(rank));
  const auto backend = open_cpu_backend(1).value();
  *bytes = HONE_TRY(run_collectives(*backend, group, dtype));
  return Ok{};
}

GpuRun run_mixed(int ranks, Execution execution, DType dtype, bool graphs, std::string* of_cpu,
                 bool leave_waits_out = false) {
  LoopbackWorld world(ranks);
  std::vector<std::thread> others;
  std::vector<std::string> texts(static_cast<size_t>(ranks));
  for (int r = 1; r < ranks; ++r)
    others.emplace_back([&, r] {
      std::string& text = texts[static_cast<size_t>(r)];
      if (const Status done = run_on_cpu(world, r, dtype, &text); !done.ok())
        text = done.error().text();
    });
  GpuRun run = run_on_gpu(world, execution, dtype, graphs, leave_waits_out);
  for (std::thread& t : others) t.join();
  *of_cpu = texts.back();
  return run;
}

TEST(GpuRanks, HaveTheBitsOfRanksOnProcessors) {
  for (const int ranks : {2, 4})
    for (const DType dtype : {DType::f32, DType::f64, DType::bf16, DType::f16}) {
      const Execution execution =
          dtype == DType::f32 ? Execution::shuffled : Execution::as_late_as_possible;
      for (const bool graphs : {false, true}) {
        std::string of_cpu;
        const GpuRun run = run_mixed(ranks, execution, dtype, graphs, &of_cpu);
        EXPECT_EQ(run.error, "");
        EXPECT_EQ(run.findings, std::vector<std::string>());
        EXPECT_FALSE(run.bytes.empty());
        EXPECT_TRUE(run.bytes == of_cpu) << ranks << " ranks, " << name_of(dtype);
      }
    }
}

// The first wait is that of the first collective for the products.
TEST(GpuRanks, AWaitThatIsLeftOutIsFound) {
  std::string of_cpu;
  const GpuRun run =
      run_mixed(2, Execution::at_once, DType::f32, false, &of_cpu, /*leave_waits_out=*/true);
  ASSERT_FALSE(run.findings.empty());
  EXPECT_THAT(run.findings[0], HasSubstr("nothing orders it after"));
}

// A rank on an emulated GPU of a process of its own: 0 if its bytes are `wanted`.
int run_gpu_process(int rank, int ranks, const std::string& folder, const std::string& wanted) {
  FolderKeys keys(folder);
  const auto group = make_group("gloo", test_world(rank, ranks), keys);
  if (!group.ok()) return 2;
  const auto backend =
      make_emulated_cuda_backend({.execution = Execution::as_late_as_possible}, 1).value();
  const auto bytes = run_collectives(*backend, **group, DType::bf16);
  if (!bytes.ok()) fmt::print(stderr, "rank {}: {}\n", rank, bytes.error().text());
  return bytes.ok() && *bytes == wanted ? 0 : 1;
}

// As above, without a CPU among the ranks; the fake NCCL's messages go through a second group.
TEST(GpuRanks, ProcessesHaveTheBitsOfRanksOnProcessors) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "a forked process has none of the thread sanitizer's threads";
#endif
  HONE_NEEDS_ENGINE("gloo");
  constexpr int kRanks = 2;
  LoopbackWorld world(kRanks);
  std::vector<std::string> wanted(kRanks);
  const Status done = world.run([&](Group& g) -> Status {
    const auto backend = open_cpu_backend(1).value();
    wanted[static_cast<size_t>(g.rank())] = HONE_TRY(run_collectives(*backend, g, DType::bf16));
    return Ok{};
  });
  ASSERT_TRUE(done.ok()) << done.error().text();
  const std::string folder = testing::TempDir() + fmt::format("/gpu_ranks_{}", ::getpid());
  std::filesystem::create_directories(folder);
  std::vector<pid_t> children;
  for (int rank = 0; rank < kRanks; ++rank) {
    children.push_back(::fork());
    ASSERT_GE(children.back(), 0);
    if (children.back() == 0)
      ::_exit(run_gpu_process(rank, kRanks, folder, wanted[static_cast<size_t>(rank)]));
  }
  for (const pid_t child : children) {
    int status = -1;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  std::filesystem::remove_all(folder);
}

TEST(GpuRanks, ALostRankIsAnErrorOfItsCollective) {
  LoopbackWorld world(2);
  std::thread other([&] {
    std::vector<std::byte> id(sizeof(cuda::ncclUniqueId));
    const std::span<std::byte> whole = id;
    EXPECT_TRUE(broadcast(world.group(1), 0, {&whole, 1}).ok());
    world.group(1).stop("planted");
  });
  const GpuRun run = run_on_gpu(world, Execution::as_late_as_possible, DType::f32, false);
  other.join();
  EXPECT_EQ(run.findings, std::vector<std::string>());
  EXPECT_THAT(run.error, HasSubstr("H1502"));
}

}  // namespace
}  // namespace hone
