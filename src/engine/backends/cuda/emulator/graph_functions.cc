// Graphs of the fake driver: captured, instantiated, launched.
#include "engine/backends/cuda/emulator/state.h"

namespace hone::cuda::fake {
namespace {

template <class T, class Handle>
T* find(FakeState& s, const Handles<T>& all, Handle handle, const char* what) {
  T* one = all.find(handle);
  if (one == nullptr)
    s.find(fmt::format("uses {} that was never made", what));
  else if (one->destroyed)
    s.find(fmt::format("uses {} after it was destroyed", one->text()));
  return one != nullptr && one->destroyed ? nullptr : one;
}

template <class T>
CUresult destroy(T* graph) {
  if (graph == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  graph->destroyed = true;
  graph->notes.clear();
  return CUDA_SUCCESS;
}

// The graph's lanes begin after what the stream was given before, and the stream continues after
// the first lane, which waits for the others.
CUresult launch_graph(FakeState& s, GraphExec& g, Stream& on) {
  on.clock.join(s.host);
  for (Stream* lane : g.lanes) s.wait(*lane, on.last, on.clock);
  struct Mark {
    std::shared_ptr<Op> op;
    Clock clock;
  };
  std::vector<Mark> marks;
  for (const Noted& n : g.notes) {
    Stream& lane = *g.lanes[n.lane];
    if (n.what == Noted::What::mark) {
      marks.push_back({s.queue(lane, {}, {}), lane.clock});
    } else if (n.what == Noted::What::wait) {
      s.wait(lane, marks[n.mark].op, marks[n.mark].clock);
    } else {
      s.kernel = n.kernel;
      for (const Access& a : n.accesses)
        if (a.bytes > 0 && s.block(a.at, a.bytes) == nullptr) return CUDA_ERROR_INVALID_VALUE;
      s.queue(lane, n.accesses, n.work);
    }
  }
  s.kernel.clear();
  s.wait(on, g.lanes[0]->last, g.lanes[0]->clock);
  return CUDA_SUCCESS;
}

}  // namespace

void add_graph_functions(Driver& t) {
  t.cuStreamBeginCapture = [](CUstream stream, CUstreamCaptureMode) {
    return enter("cuStreamBeginCapture", [&](FakeState& s) {
      Stream* on = s.stream(stream);
      if (on == nullptr) return CUDA_ERROR_INVALID_HANDLE;
      if (on->capture != nullptr) {
        s.find("begins a capture inside one");
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
      }
      s.capture.emplace();
      s.capture->origin = on;
      s.capture->lane_of(*on);
      return CUDA_SUCCESS;
    });
  };
  t.cuStreamEndCapture = [](CUstream stream, CUgraph* graph) {
    return enter("cuStreamEndCapture", [&](FakeState& s) {
      const Stream* on = s.stream(stream);
      if (on == nullptr) return CUDA_ERROR_INVALID_HANDLE;
      if (!s.capture || s.capture->origin != on) {
        s.find("ends a capture that did not begin there");
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
      }
      const Capture done = std::move(*s.capture);
      s.capture.reset();
      for (const auto& [lane, index] : done.lanes) lane->capture = nullptr;
      for (const auto& e : s.events.all()) {
        if (e->capture == nullptr) continue;
        e->capture = nullptr;
        e->mark = nullptr;  // it is of no use outside
      }
      if (!done.is_joined()) {
        s.find("ends a capture with work that its stream does not wait for");
        return CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
      }
      Graph& g = s.graphs.add();
      g.number = static_cast<int64_t>(s.graphs.all().size());
      g.lanes = done.clocks.size();
      g.notes = done.notes;
      *graph = reinterpret_cast<CUgraph>(&g);
      return CUDA_SUCCESS;
    });
  };
  t.cuGraphInstantiate = [](CUgraphExec* exec, CUgraph graph, unsigned long long) {
    return enter("cuGraphInstantiate", [&](FakeState& s) {
      s.not_in_step("makes a graph executable");
      const Graph* g = find(s, s.graphs, graph, "a graph");
      if (g == nullptr) return CUDA_ERROR_INVALID_HANDLE;
      GraphExec& made = s.execs.add();
      made.number = static_cast<int64_t>(s.execs.all().size());
      made.notes = g->notes;
      for (size_t i = 0; i < g->lanes; ++i) {
        made.lanes.push_back(&s.queues.add_stream());
        made.lanes[i]->destroyed = true;  // no handle of the caller's
      }
      *exec = reinterpret_cast<CUgraphExec>(&made);
      return CUDA_SUCCESS;
    });
  };
  t.cuGraphUpload = [](CUgraphExec exec, CUstream stream) {
    return enter("cuGraphUpload", [&](FakeState& s) {
      s.not_in_step("uploads a graph");
      return find(s, s.execs, exec, "an executable graph") && s.stream(stream)
                 ? CUDA_SUCCESS
                 : CUDA_ERROR_INVALID_HANDLE;
    });
  };
  t.cuGraphLaunch = [](CUgraphExec exec, CUstream stream) {
    return enter("cuGraphLaunch", [&](FakeState& s) {
      GraphExec* g = find(s, s.execs, exec, "an executable graph");
      Stream* on = s.stream(stream);
      if (g == nullptr || on == nullptr) return CUDA_ERROR_INVALID_HANDLE;
      return launch_graph(s, *g, *on);
    });
  };
  t.cuGraphDestroy = [](CUgraph graph) {
    return enter("cuGraphDestroy",
                 [&](FakeState& s) { return destroy(find(s, s.graphs, graph, "a graph")); });
  };
  t.cuGraphExecDestroy = [](CUgraphExec exec) {
    return enter("cuGraphExecDestroy", [&](FakeState& s) {
      return destroy(find(s, s.execs, exec, "an executable graph"));
    });
  };
}

}  // namespace hone::cuda::fake
