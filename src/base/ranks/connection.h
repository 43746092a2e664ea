// TCP connections of the control plane.
#pragma once

#include <functional>
#include <string>

#include "base/core/clock.h"
#include "base/core/file_descriptor.h"
#include "base/ranks/frame.h"

namespace hone {

struct Listener {
  FileDescriptor socket;
  int port = 0;
  double rests_until = 0;  // on the clock of the caller: no descriptor was free

  // A connection that waits, which does not block; none: nobody waits, or no descriptor is free.
  FileDescriptor accept(double now);
  // Events for poll(): none while it rests, or a connection that waits would keep a core busy.
  short events(double now) const;
};
// Listens at a port, 0: one that the kernel chooses. `loopback`: for processes of this host alone.
// Error H0127.
Result<Listener> listen_at(int port, bool loopback);

// Connects within `patience_s`: a name that is not known yet, and a host that refuses, are tried again;
// `say` gets a line when that lasts. Error H0125.
struct ConnectOptions {
  double patience_s = 600;
  Clock* clock = &system_clock();
  std::function<void(const std::string& line)> say = {};
};
Result<FileDescriptor> connect_to(const std::string& host, int port, const ConnectOptions& options);

// Frames over a connection, which does not block. A host that no longer answers ends the connection
// within 5 s: its kernel answers also while its process is stopped.
class FrameConnection {
 public:
  FrameConnection(FileDescriptor socket, FrameLimits limits);
  int fd() const { return socket_.get(); }
  void set_limits(FrameLimits limits) { reader_.set_limits(limits); }

  // Reads the bytes that are there; false: the connection ended.
  bool read();
  Result<std::optional<Frame>> next() { return reader_.next(); }
  void queue(const Frame& frame) { unsent_ += encode_frame(frame); }
  // Writes as many bytes as the connection takes; false: it ended.
  bool write();
  size_t unsent_bytes() const { return unsent_.size(); }

 private:
  FileDescriptor socket_;
  FrameReader reader_;
  std::string unsent_;
};

}  // namespace hone
