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
  // If accept() fails for lack of file descriptors or memory, the listener rests for 0.25 s. This is the time at which
  // the rest ends, in seconds of the caller's clock.
  double rests_until = 0;

  // Returns the next connection, in non-blocking mode. Returns a closed descriptor (false as a bool) if no connection
  // waits, or if there is no free file descriptor or memory. `now` is the time on the caller's clock.
  FileDescriptor accept(double now);
  // The events of the socket to wait for with poll(): POLLIN; 0 while the listener rests. (With POLLIN, poll() would
  // return at once again and again, because the connection still waits.)
  short events(double now) const;
};
// Listens at a TCP port; 0: the kernel chooses one, which Listener::port names. `loopback` true: only processes of this
// host can connect; false: other hosts can too. Error H0127 if the port cannot be used.
Result<Listener> listen_at(int port, bool loopback);

// The options of connect_to().
struct ConnectOptions {
  double patience_s = 600;  // connect_to() starts no further try after this number of seconds
  Clock* clock = &system_clock();  // not owned
  // Receives a line with the reason of the wait after 5 s, after 15 s, after 45 s, and so on. Called on the thread that
  // called connect_to(). Empty: there are no such lines.
  std::function<void(const std::string& line)> say = {};
};
// Connects to a host by name or address. A try fails if the name is unknown, the host refuses, or an address does not
// answer within 5 s. After a failed try, connect_to() waits at most 1 s and tries again, until `patience_s` seconds
// have passed. Returns a descriptor in non-blocking mode. Error H0125 if no try has succeeded.
Result<FileDescriptor> connect_to(const std::string& host, int port, const ConnectOptions& options);

// Sends and receives frames over a TCP connection, without blocking. The connection ends if the other host's kernel
// does not answer for about 5 s, also if no frame is on its way. If the other process is only stopped (SIGSTOP), the
// connection stays, because the kernel of its host still answers.
class FrameConnection {
 public:
  FrameConnection(FileDescriptor socket, FrameLimits limits);
  int fd() const { return socket_.get(); }
  void set_limits(FrameLimits limits) { reader_.set_limits(limits); }

  // Receives bytes that have arrived, at most about 1 MiB in one call. Returns false if the connection has ended.
  bool read();
  // The next received frame; nullopt: none is complete. Error H0128 if the bytes are not a frame, or if the frame is
  // larger than the limits.
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
