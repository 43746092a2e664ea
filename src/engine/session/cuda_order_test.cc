// The calls of the CUDA backend to a driver in a step with states on the host or on disk: none is
// wrong, and planted mistakes are found.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "engine/backends/cuda/backend.h"
#include "engine/backends/cuda/emulator/fake_driver.h"
#include "engine/backends/cuda/emulator/kernels.h"
#include "engine/session/places_test.h"
#include "engine/session/session.h"

namespace hone {
namespace {

using namespace cuda;  // NOLINT: the names of a table of functions

FakeDriver* driver;
Driver table;             // the functions that the backend calls
Driver real;              // the right functions, which planted ones call
CUstream other_stream;    // a stream that was used
CUdeviceptr first_place;  // of the device, that was copied to or given to a kernel
int64_t calls_of_plant, launched_graphs;
void (*plant_of_graph)(Driver& d);

struct Mistake {
  std::string name;
  void (*plant)(Driver& d);  // in the second step, or in what a graph is made of
  std::string found;         // a part of a finding
  std::string in_graph;      // the same of the graph; "": a graph cannot have it
};

const std::vector<Mistake>& mistakes() {
  static const std::vector<Mistake> all{
      {"NoWaits",
       [](Driver& d) {
         d.cuStreamWaitEvent = [](CUstream, CUevent, unsigned) { return CUDA_SUCCESS; };
       },
       "nothing orders it after", "nothing orders it after"},
      {"OneWaitIsMissing",
       [](Driver& d) {
         d.cuStreamWaitEvent = [](CUstream s, CUevent e, unsigned flags) {
           return ++calls_of_plant == 3 ? CUDA_SUCCESS : real.cuStreamWaitEvent(s, e, flags);
         };
       },
       "nothing orders it after", "nothing orders it after"},
      {"EventsAreNotRecorded",
       [](Driver& d) { d.cuEventRecord = [](CUevent, CUstream) { return CUDA_SUCCESS; }; },
       "nothing orders it after", "nothing orders it after"},
      {"KernelsOnTheStreamOfCopies",
       [](Driver& d) {
         d.cuMemcpyAsync = [](CUdeviceptr to, CUdeviceptr from, size_t n, CUstream s) {
           other_stream = s;
           return real.cuMemcpyAsync(to, from, n, s);
         };
         d.cuLaunchKernel = [](CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                               unsigned by, unsigned bz, unsigned shared, CUstream s, void** a,
                               void** extra) {
           return real.cuLaunchKernel(f, gx, gy, gz, bx, by, bz, shared,
                                      other_stream != nullptr ? other_stream : s, a, extra);
         };
       },
       "nothing orders it after", "ends a capture with work"},
      {"CopiesOnTheStreamOfKernels",
       [](Driver& d) {
         d.cuLaunchKernel = [](CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                               unsigned by, unsigned bz, unsigned shared, CUstream s, void** a,
                               void** extra) {
           other_stream = s;
           return real.cuLaunchKernel(f, gx, gy, gz, bx, by, bz, shared, s, a, extra);
         };
         d.cuEventRecord = [](CUevent e, CUstream s) {
           return real.cuEventRecord(e, other_stream != nullptr ? other_stream : s);
         };
       },
       "nothing orders it after", "ends a capture with work"},
      {"ABufferIsUsedForAllCopies",
       [](Driver& d) {
         d.cuMemcpyAsync = [](CUdeviceptr to, CUdeviceptr from, size_t n, CUstream s) {
           if (first_place == 0) first_place = to;
           return real.cuMemcpyAsync(first_place, from, n, s);
         };
       },
       "nothing orders it after", "nothing orders it after"},
      {"BytesBeyondTheBlock",
       [](Driver& d) {
         d.cuMemcpyAsync = [](CUdeviceptr to, CUdeviceptr from, size_t n, CUstream s) {
           return real.cuMemcpyAsync(to, from, n + (4 << 20), s);
         };
       },
       "uses bytes", "uses bytes"},
      {"AKernelGetsAnotherAddress",
       [](Driver& d) {
         d.cuLaunchKernel = [](CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                               unsigned by, unsigned bz, unsigned shared, CUstream s, void** a,
                               void** extra) {
           if (first_place == 0) first_place = *static_cast<CUdeviceptr*>(a[0]);
           void* arguments[16];
           std::copy_n(a, 6, arguments);
           arguments[0] = &first_place;
           return real.cuLaunchKernel(f, gx, gy, gz, bx, by, bz, shared, s, arguments, extra);
         };
       },
       "which it does not note", "which it does not note"},
      {"AStepWaitsOnTheHost",
       [](Driver& d) {
         d.cuMemcpyAsync = [](CUdeviceptr to, CUdeviceptr from, size_t n, CUstream s) {
           const CUresult r = real.cuMemcpyAsync(to, from, n, s);
           real.cuStreamSynchronize(s);
           return r;
         };
       },
       "waits on the host inside a step", "waits on the host inside a capture"},
      {"AStepAllocates",
       [](Driver& d) {
         d.cuMemcpyAsync = [](CUdeviceptr to, CUdeviceptr from, size_t n, CUstream s) {
           CUdeviceptr staging = 0;
           real.cuMemAlloc(&staging, n);
           real.cuMemFree(staging);
           return real.cuMemcpyAsync(to, from, n, s);
         };
       },
       "allocates memory inside a step", "allocates memory inside a capture"},
      {"TheHostReadsBeforeTheEnd",
       [](Driver& d) { d.cuStreamSynchronize = [](CUstream) { return CUDA_SUCCESS; }; },
       "the host has not waited for", ""},
  };
  return all;
}

class CudaOrder : public testing::Test {
 protected:
  CudaOrder()
      : folder_(std::filesystem::path(testing::TempDir()) / fmt::format("cuda.{}", getpid())) {
    add_emulated_kernels();
  }
  ~CudaOrder() override { std::filesystem::remove_all(folder_); }

  // Three steps; `plant`: in the second one, or while the first one is noted as a graph.
  std::vector<std::string> findings(Space home, Execution execution, void (*plant)(Driver&),
                                    bool graphs) {
    calls_of_plant = 0;
    other_stream = nullptr;
    first_place = 0;
    launched_graphs = 0;
    plant_of_graph = graphs ? plant : nullptr;
    FakeDriver fake({.execution = execution, .seed = 3});
    driver = &fake;
    table = real = fake.table();
    // The backend has a table of its own, so what is planted later is reached by these.
    Driver by_table = real;
#define HONE_BY_TABLE(name) by_table.name = [](auto... a) { return table.name(a...); };
    HONE_BY_TABLE(cuStreamWaitEvent)
    HONE_BY_TABLE(cuEventRecord)
    HONE_BY_TABLE(cuMemcpyAsync)
    HONE_BY_TABLE(cuLaunchKernel)
#undef HONE_BY_TABLE
    by_table.cuStreamBeginCapture = [](CUstream stream, CUstreamCaptureMode mode) {
      const CUresult r = real.cuStreamBeginCapture(stream, mode);
      if (plant_of_graph) plant_of_graph(table);
      return r;
    };
    by_table.cuStreamEndCapture = [](CUstream stream, CUgraph* graph) {
      table = real;
      return real.cuStreamEndCapture(stream, graph);
    };
    by_table.cuGraphLaunch = [](CUgraphExec exec, CUstream stream) {
      ++launched_graphs;
      return real.cuGraphLaunch(exec, stream);
    };
    by_table.cuStreamSynchronize = [](CUstream stream) {
      driver->end_step();  // a run waits once, at its end
      return table.cuStreamSynchronize(stream);
    };
    {
      const auto backend =
          std::move(make_cuda_backend(by_table, 0, emulated_modules, {.graphs = graphs}).value());
      std::vector<Program> programs;
      programs.push_back(step(home));
      Session s = std::move(Session::compile(std::move(programs), *backend).value());
      EXPECT_TRUE(s.allocate(folder_).ok());
      for (int k = 0; k < 3; ++k) {
        std::span<float> x = s.input<float>(0, "x");
        for (size_t i = 0; i < x.size(); ++i) x[i] = 1;
        if (k == 1 && plant && !graphs) plant(table);
        if (k > 0) fake.begin_step();  // queues are made in the first one
        s.run(0);
        table = real;
      }
      for (int m = 0; m < kStates && !plant; ++m)
        EXPECT_EQ(s.state_values<float>(fmt::format("m{}", m)), std::vector<float>(kCount, 3)) << m;
      if (!plant) {
        EXPECT_EQ(launched_graphs, graphs ? 2 : 0);
      }
    }
    return fake.finish();
  }

 private:
  const std::string folder_;
};

TEST_F(CudaOrder, NothingIsWrongWithAStep) {
  for (const bool graphs : {false, true})
    for (const Space home : kSpaces)
      for (const Execution e :
           {Execution::at_once, Execution::as_late_as_possible, Execution::shuffled})
        EXPECT_EQ(findings(home, e, nullptr, graphs), std::vector<std::string>{}) << name_of(home);
}

TEST_F(CudaOrder, PlantedMistakesAreFound) {
  for (const bool graphs : {false, true})
    for (const Mistake& m : mistakes()) {
      const std::string& expected = graphs ? m.in_graph : m.found;
      if (expected.empty()) continue;
      const std::vector<std::string> all =
          findings(Space::host, Execution::at_once, m.plant, graphs);
      const auto has = [&](const std::string& f) { return f.find(expected) != f.npos; };
      EXPECT_TRUE(std::any_of(all.begin(), all.end(), has))
          << m.name << (graphs ? " in a graph: " : ": ") << all.size()
          << " findings, the first: " << (all.empty() ? "" : all[0]);
    }
}

}  // namespace
}  // namespace hone
