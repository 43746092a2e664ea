// Streams and events of the fake driver.
#include "engine/backends/cuda/emulator/state.h"

namespace hone::cuda::fake {
namespace {

// A caller's handle is the address of the object.
template <class Handle, class T>
Handle handle_of(T& object) {
  return reinterpret_cast<Handle>(&object);
}

CUresult wait_for_event(FakeState& s, CUstream stream, CUevent event) {
  Stream* on = s.stream(stream);
  const Event* e = s.event(event);
  if (on == nullptr || e == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (e->capture != nullptr) {
    if (on->capture == nullptr) on->capture = &*s.capture;  // it takes part from now on
    on->capture->add_wait(*on, e->captured_mark);
    return CUDA_SUCCESS;
  }
  if (on->capture != nullptr) {
    s.find(fmt::format("waits inside a capture for {}, which is not of it", e->text()));
    return CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
  }
  if (!e->mark) {  // CUDA does not wait then
    s.find(fmt::format("waits for {}, which was never recorded", e->text()));
    return CUDA_SUCCESS;
  }
  on->clock.join(s.host);
  s.wait(*on, e->mark, e->clock);
  return CUDA_SUCCESS;
}

CUresult result_of_wait(FakeState& s) { return std::exchange(s.failed, CUDA_SUCCESS); }

}  // namespace

void add_stream_functions(Driver& t) {
  t.cuStreamCreate = [](CUstream* stream, unsigned) {
    return enter("cuStreamCreate", [&](FakeState& s) {
      s.not_in_step("creates a stream");
      *stream = handle_of<CUstream>(s.queues.add_stream());
      return CUDA_SUCCESS;
    });
  };
  t.cuStreamDestroy = [](CUstream stream) {
    return enter("cuStreamDestroy", [&](FakeState& s) {
      Stream* on = s.stream(stream);
      if (on == nullptr) return CUDA_ERROR_INVALID_HANDLE;
      on->destroyed = true;  // what is queued is still done
      return CUDA_SUCCESS;
    });
  };
  t.cuStreamSynchronize = [](CUstream stream) {
    return enter("cuStreamSynchronize", [&](FakeState& s) {
      Stream* on = s.stream(stream);
      if (on == nullptr) return CUDA_ERROR_INVALID_HANDLE;
      s.not_in_step("waits on the host");
      if (on->capture != nullptr) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
      s.host_waits_for(on->last, on->clock);
      return result_of_wait(s);
    });
  };
  t.cuStreamWaitEvent = [](CUstream stream, CUevent event, unsigned) {
    return enter("cuStreamWaitEvent",
                 [&](FakeState& s) { return wait_for_event(s, stream, event); });
  };
  t.cuEventCreate = [](CUevent* event, unsigned) {
    return enter("cuEventCreate", [&](FakeState& s) {
      s.not_in_step("creates an event");
      Event& e = s.events.add();
      e.number = static_cast<int64_t>(s.events.all().size());
      *event = handle_of<CUevent>(e);
      return CUDA_SUCCESS;
    });
  };
  t.cuEventDestroy = [](CUevent event) {
    return enter("cuEventDestroy", [&](FakeState& s) {
      Event* e = s.event(event);
      if (e == nullptr) return CUDA_ERROR_INVALID_HANDLE;
      e->destroyed = true;
      return CUDA_SUCCESS;
    });
  };
  t.cuEventRecord = [](CUevent event, CUstream stream) {
    return enter("cuEventRecord", [&](FakeState& s) {
      Stream* on = s.stream(stream);
      Event* e = s.event(event);
      if (on == nullptr || e == nullptr) return CUDA_ERROR_INVALID_HANDLE;
      e->capture = on->capture;
      if (on->capture != nullptr) {
        e->captured_mark = s.capture->add_mark(*on);
        return CUDA_SUCCESS;
      }
      e->mark = s.queue(*on, {}, {});
      e->clock = on->clock;
      return CUDA_SUCCESS;
    });
  };
}

}  // namespace hone::cuda::fake
