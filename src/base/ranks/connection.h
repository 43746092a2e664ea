// TCP connections that send and receive frames (base/ranks/frame.h) without blocking, for the control plane of a run.
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
  // After accept() found no free file descriptor, the listener rests until this time, in seconds of the caller's clock.
  double rests_until = 0;

  // Returns the next connection, set to non-blocking. If it is not open (bool is false), no connection waits, or no
  // file descriptor is free. `now` is the time on the caller's clock.
  FileDescriptor accept(double now);
  // The events of the socket for poll(): POLLIN, or 0 while the listener rests, because poll() would otherwise return
  // at once again and again.
  short events(double now) const;
};
// Listens at a TCP port; 0: the kernel chooses one, which Listener::port names. `loopback` true: only processes of this
// host can connect. Error H0127 if the port cannot be used.
Result<Listener> listen_at(int port, bool loopback);

// The time limit of connect_to(), and a receiver of lines about a long wait.
struct ConnectOptions {
  double patience_s = 600;         // in seconds
  Clock* clock = &system_clock();  // not owned
  std::function<void(const std::string& line)> say = {};
};
// Connects to a host by name or address. Tries again while the name is unknown or the host refuses, until `patience_s`
// is over. The descriptor does not block. Error H0125 if no connection is made in that time.
Result<FileDescriptor> connect_to(const std::string& host, int port, const ConnectOptions& options);

// Sends and receives frames over a TCP connection, without blocking. If the other host does not answer for 5 s, the
// connection ends. A host whose process is only stopped (SIGSTOP) still answers, because its kernel does.
class FrameConnection {
 public:
  FrameConnection(FileDescriptor socket, FrameLimits limits);
  int fd() const { return socket_.get(); }
  void set_limits(FrameLimits limits) { reader_.set_limits(limits); }

  // Receives the bytes that have arrived. Returns false if the connection has ended.
  bool read();
  // The next received frame; nullopt: none is complete. Error H0128 if the bytes are not a frame.
  Result<std::optional<Frame>> next() { return reader_.next(); }
  void queue(const Frame& frame) { unsent_ += encode_frame(frame); }  // write() sends it
  // Sends as many queued bytes as the connection takes. Returns false if the connection has ended.
  bool write();
  size_t unsent_bytes() const { return unsent_.size(); }

 private:
  FileDescriptor socket_;
  FrameReader reader_;
  std::string unsent_;
};

}  // namespace hone
