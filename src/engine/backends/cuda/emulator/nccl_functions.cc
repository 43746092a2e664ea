// NCCL on the fake driver's streams: a group of sends and receives is one entry of a stream.
#include <cstring>

#include "engine/backends/cuda/emulator/fake_nccl.h"
#include "engine/backends/cuda/emulator/state.h"
#include "engine/comm/errors.h"

namespace hone::cuda {
namespace fake {
namespace {

struct FakeComm {
  Group* carrier = nullptr;
  bool destroyed = false;
  bool lost = false;  // another rank is gone
};
Handles<FakeComm> comms;  // of all drivers, so that an old handle is known as one

// The calls between ncclGroupStart and ncclGroupEnd.
struct OpenGroup {
  int depth = 0;
  FakeComm* comm = nullptr;
  CUstream stream = nullptr;
  std::vector<Send> sends;
  std::vector<Receive> receives;
};
thread_local OpenGroup open_group;

ncclResult_t nccl_call(const char* function, FunctionRef<ncclResult_t(FakeState&)> body) {
  ncclResult_t result = ncclInternalError;
  enter(function, [&](FakeState& s) {
    result = body(s);
    return result == ncclSuccess ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  });
  return result;
}

FakeComm* live_comm(FakeState& s, ncclComm_t handle) {
  FakeComm* comm = comms.find(handle);
  if (comm == nullptr)
    s.find("uses a communicator that was never made");
  else if (comm->destroyed)
    s.find("uses a communicator after it was destroyed");
  return comm == nullptr || comm->destroyed ? nullptr : comm;
}

// The checks that sends and receives share.
ncclResult_t add_message(FakeState& s, const void* data, size_t bytes, int peer, ncclComm_t handle,
                         CUstream stream) {
  FakeComm* comm = live_comm(s, handle);
  if (comm == nullptr || s.stream(stream) == nullptr) return ncclInvalidArgument;
  OpenGroup& g = open_group;
  if (g.depth == 0) {
    s.find("moves a message outside of a group, which may wait for the other rank");
    return ncclInvalidUsage;
  }
  if (peer < 0 || peer >= comm->carrier->ranks()) {
    s.find(fmt::format("names rank {} of {}", peer, comm->carrier->ranks()));
    return ncclInvalidArgument;
  }
  if (g.comm != nullptr && (g.comm != comm || g.stream != stream))
    s.find("is in a group with messages of another communicator or stream");
  g.comm = comm;
  g.stream = stream;
  return s.block(data, static_cast<int64_t>(bytes)) == nullptr ? ncclInvalidArgument : ncclSuccess;
}

ncclResult_t end_group(FakeState& s) {
  OpenGroup& g = open_group;
  if (g.depth == 0) {
    s.find("ends a group that was not started");
    return ncclInvalidUsage;
  }
  if (--g.depth > 0) return ncclSuccess;
  const OpenGroup done = std::exchange(g, {});
  if (done.comm == nullptr) return ncclSuccess;
  Stream* on = s.stream(done.stream);
  if (on == nullptr) return ncclInvalidArgument;
  std::vector<Access> accesses;
  for (const Send& m : done.sends)
    accesses.push_back({m.bytes.data(), static_cast<int64_t>(m.bytes.size()), false});
  for (const Receive& m : done.receives)
    accesses.push_back({m.bytes.data(), static_cast<int64_t>(m.bytes.size()), true});
  s.queue(*on, accesses, [done] {
    if (done.comm->destroyed) throw std::runtime_error("its communicator was destroyed");
    // A real stream waits for a rank that is gone until the communicator is aborted.
    if (done.comm->lost) return;
    const Status moved = carried_exchange(*done.comm->carrier, done.sends, done.receives);
    if (moved.ok()) return;
    if (moved.error().is(err::kMessageDiffers)) throw std::runtime_error(moved.error().what());
    done.comm->lost = true;
  });
  return ncclSuccess;
}

ncclResult_t end_comm(FakeState& s, ncclComm_t handle) {
  FakeComm* comm = live_comm(s, handle);
  if (comm == nullptr) return ncclInvalidArgument;
  s.queues.run_all();  // as ncclCommDestroy, which waits for its messages
  comm->destroyed = true;
  return ncclSuccess;
}

}  // namespace
}  // namespace fake

Nccl fake_nccl() {
  using namespace fake;  // NOLINT: its functions
  Nccl t;
  t.ncclGetVersion = [](int* version) {
    *version = 23203;
    return ncclSuccess;
  };
  t.ncclGetErrorString = [](ncclResult_t r) { return r == ncclSuccess ? "no error" : "a fault"; };
  t.ncclGetUniqueId = [](ncclUniqueId* id) {
    std::memset(id->internal, 'h', sizeof id->internal);
    return ncclSuccess;
  };
  t.ncclCommInitRank = [](ncclComm_t* comm, int ranks, ncclUniqueId, int rank) {
    return nccl_call("ncclCommInitRank", [&](FakeState& s) {
      s.not_in_step("makes a communicator");
      Group* carrier = fake_nccl_carrier;
      if (carrier == nullptr || carrier->ranks() != ranks || carrier->rank() != rank)
        return ncclInvalidArgument;
      FakeComm& made = comms.add();
      made.carrier = carrier;
      *comm = reinterpret_cast<ncclComm_t>(&made);
      return ncclSuccess;
    });
  };
  t.ncclCommGetAsyncError = [](ncclComm_t comm, ncclResult_t* error) {
    return nccl_call("ncclCommGetAsyncError", [&](FakeState& s) {
      const FakeComm* c = live_comm(s, comm);
      if (c == nullptr) return ncclInvalidArgument;
      *error = c->lost ? ncclRemoteError
                       : (s.failed == CUDA_SUCCESS ? ncclSuccess : ncclUnhandledCudaError);
      return ncclSuccess;
    });
  };
  t.ncclCommDestroy = [](ncclComm_t comm) {
    return nccl_call("ncclCommDestroy", [&](FakeState& s) { return end_comm(s, comm); });
  };
  t.ncclCommAbort = [](ncclComm_t comm) {
    return nccl_call("ncclCommAbort", [&](FakeState& s) {
      FakeComm* c = live_comm(s, comm);
      if (c == nullptr) return ncclInvalidArgument;
      c->destroyed = true;
      return ncclSuccess;
    });
  };
  t.ncclGroupStart = [] {
    ++open_group.depth;
    return ncclSuccess;
  };
  t.ncclGroupEnd = [] {
    return nccl_call("ncclGroupEnd", [](FakeState& s) { return end_group(s); });
  };
  t.ncclSend = [](const void* data, size_t count, ncclDataType_t, int peer, ncclComm_t comm,
                  CUstream stream) {
    return nccl_call("ncclSend", [&](FakeState& s) {
      const ncclResult_t checked = add_message(s, data, count, peer, comm, stream);
      if (checked == ncclSuccess)
        open_group.sends.push_back({peer, {static_cast<const std::byte*>(data), count}});
      return checked;
    });
  };
  t.ncclRecv = [](void* data, size_t count, ncclDataType_t, int peer, ncclComm_t comm,
                  CUstream stream) {
    return nccl_call("ncclRecv", [&](FakeState& s) {
      const ncclResult_t checked = add_message(s, data, count, peer, comm, stream);
      if (checked == ncclSuccess)
        open_group.receives.push_back({peer, {static_cast<std::byte*>(data), count}});
      return checked;
    });
  };
  return t;
}

}  // namespace hone::cuda
