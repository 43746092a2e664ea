#include "engine/backends/cuda/emulator/state.h"

#include <algorithm>

namespace hone::cuda {

using fake::Block;
using fake::Conflict;
using fake::Doer;
using fake::Event;
using fake::Op;
using fake::Stream;

namespace {

constexpr size_t kMostFindings = 1000;

}  // namespace

FakeState::FakeState(FakeOptions o)
    : options(std::move(o)), queues(options.execution, options.seed, [this](Op& op) { run(op); }) {
  host.step(0);
}

std::string FakeState::where() const {
  std::string text = fmt::format("call {} ({}", calls, function);
  if (!kernel.empty()) text += fmt::format(" of '{}'", kernel);
  if (on != nullptr) text += " on " + on->text();
  return text + ")";
}

void FakeState::find_at(const std::string& where, const std::string& what) {
  if (findings.size() < kMostFindings)
    findings.push_back(where + " " + what + ".");
  else
    ++more_findings;
}

Stream* FakeState::stream(CUstream handle) {
  Stream* s = nullptr;
  if (handle == nullptr) {
    on = s = &queues.null_stream();
    find("uses the null stream");
    return s;
  }
  s = queues.find(handle);
  if (s == nullptr) {
    find("uses a stream that was never created");
    return nullptr;
  }
  on = s;
  if (!s->destroyed) return s;
  find("uses the stream after it was destroyed");
  return nullptr;
}

Event* FakeState::event(CUevent handle) {
  Event* e = events.find(handle);
  if (e == nullptr)
    find("uses an event that was never created");
  else if (e->destroyed)
    find(fmt::format("uses {} after it was destroyed", e->text()));
  return e != nullptr && e->destroyed ? nullptr : e;
}

Block* FakeState::block(const void* at, int64_t bytes) {
  Block* b = blocks.find(at);
  if (b == nullptr) {
    find(fmt::format("uses {}, which is not in memory that the driver allocated", at));
  } else if (b->freed_by != 0) {
    find(fmt::format("uses {}, which call {} freed", b->text(), b->freed_by));
  } else if (!b->has(at, bytes)) {
    find(fmt::format("uses bytes {} to {} of {}", static_cast<const std::byte*>(at) - b->data,
                     static_cast<const std::byte*>(at) - b->data + bytes, b->text()));
  } else {
    return b;
  }
  return nullptr;
}

void FakeState::not_in_step(const char* what) {
  if (in_step) find(fmt::format("{} inside a step", what));
  if (capture) find(fmt::format("{} inside a capture", what));
}

std::shared_ptr<const Doer> FakeState::doer(size_t actor) const {
  return std::make_shared<const Doer>(Doer{actor, where()});
}

std::shared_ptr<Op> FakeState::queue(Stream& s, std::span<const Access> accesses,
                                     std::function<void()> work) {
  if (s.capture != nullptr) {
    s.capture->add(s, {.kernel = kernel,
                       .accesses = {accesses.begin(), accesses.end()},
                       .work = std::move(work)});
    return nullptr;
  }
  auto op = std::make_shared<Op>(Op{.stream = &s, .doer = doer(s.actor), .work = std::move(work)});
  s.clock.join(host);
  s.clock.step(s.actor);
  std::vector<const Doer*> said;  // one finding for each two calls
  for (const Access& a : accesses) {
    const Block* b = blocks.find(a.at);
    op->uses_device |= b != nullptr && b->device;
    for (const Conflict& c : races.access(a, op->doer, s.clock)) {
      if (std::find(said.begin(), said.end(), c.earlier.get()) != said.end()) continue;
      said.push_back(c.earlier.get());
      const auto from = static_cast<int64_t>(c.begin - reinterpret_cast<uintptr_t>(b->data));
      find(fmt::format("{} bytes {} to {} of {}, and nothing orders it after {}, which {} them",
                       a.writes ? "writes" : "reads", from,
                       from + static_cast<int64_t>(c.end - c.begin), b->text(), c.earlier->text,
                       c.earlier_writes ? "writes" : "reads"));
    }
  }
  queues.add(op);
  return op;
}

void FakeState::wait(Stream& s, const std::shared_ptr<Op>& after, const fake::Clock& clock) {
  s.clock.join(clock);
  s.clock.step(s.actor);
  auto op = std::make_shared<Op>();
  op->stream = &s;
  op->after = after;
  queues.add(op);
}

void FakeState::host_access(const Access& a, const char* what) {
  host.step(0);
  for (const Conflict& c : races.access(a, doer(0), host)) {
    const Block* b = blocks.find(a.at);
    find(fmt::format("{} {}, and the host has not waited for {}, which {} it", what, b->text(),
                     c.earlier->text, c.earlier_writes ? "writes" : "reads"));
    return;  // the others say the same of the block
  }
}

void FakeState::host_waits_for(const std::shared_ptr<Op>& op, const fake::Clock& clock) {
  queues.run_until(op);
  host.join(clock);
}

void FakeState::run(Op& op) {
  struct Open {
    explicit Open(fake::Blocks* b) : blocks(b) {
      if (blocks != nullptr) blocks->open_device();
    }
    ~Open() {
      if (blocks != nullptr) blocks->close_device();
    }
    fake::Blocks* blocks;
  } open(op.uses_device ? &blocks : nullptr);
  try {
    op.work();
  } catch (const std::exception& e) {
    find_at(op.doer->text, fmt::format("fails: {}", e.what()));
    failed = CUDA_ERROR_LAUNCH_FAILED;
  }
}

}  // namespace hone::cuda
