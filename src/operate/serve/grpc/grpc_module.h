// The interface between hone and libhone_grpc.so, the only code that includes gRPC.
//
// The module is a file of its own, loaded only if a server speaks gRPC, because gRPC's libraries take longer to load
// than everything else that hone does at its start. It hands tensors to the server as they are, and puts every other
// call as a request to the server's own routes of the v2 protocol, so that both transports answer alike.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "operate/serve/protocol/tensor.h"

namespace hone {

inline constexpr int kGrpcModuleVersion = 3;

// Limits for clients. A connection may run this number of calls at once, as over HTTP/2. gRPC may
// hold 256 MiB of messages for all connections together, or 8 messages of GrpcRequest::most_bytes
// if that is more. At the limit it stops reading, and finally cancels calls.
inline constexpr int kGrpcMostStreams = 128;
inline constexpr int64_t kGrpcLeastBytes = int64_t{256} << 20, kGrpcMostMessages = 8;

// The server that answers the calls. Any thread calls it.
class GrpcDoor {
 public:
  using Headers = std::vector<std::pair<std::string, std::string>>;
  struct Caller {
    Headers headers;     // x-request-id among them
    std::string client;  // as gRPC names it: "ipv4:127.0.0.1:41234"
  };
  // The id of a request with these headers, for the caller and for the answer.
  virtual std::string request_id(const Headers& headers) = 0;
  struct Answer {
    int status = 500;
    std::string body = {};
  };
  // Asks a route. `done` is called once, on any thread; calling the result ends the request (the
  // client left).
  virtual std::function<void()> ask(std::string method, std::string path, Caller caller,
                                    std::string body, std::function<void(Answer)> done) = 0;

  // A request of tensors, whose values may be packed, and its answer, whose values are.
  using Parameters =
      std::vector<std::pair<std::string, std::variant<bool, int64_t, double, std::string>>>;
  struct Inferred {
    int status = 500;        // of HTTP
    std::string error = {};  // in one line
    TensorAnswer answer = {};
  };
  virtual std::function<void()> infer(TensorQuestion question, const Parameters& parameters,
                                      Caller caller, std::function<void(Inferred)> done) = 0;

 protected:
  ~GrpcDoor() = default;
};

class GrpcListener {
 public:
  virtual ~GrpcListener() = default;
  virtual int port() const = 0;
  virtual void stop(double seconds) = 0;  // no new calls; open calls have this time
};

struct GrpcRequest {
  std::string address;           // "127.0.0.1:8001"; port 0: a free one
  std::string certificate, key;  // PEM texts; "": no TLS
  int64_t most_bytes = 0;        // of a message
};
// The module's only symbol, "hone_grpc_start". Returns null and sets the error if it cannot listen.
using GrpcStart = GrpcListener* (*)(int version, const GrpcRequest&, GrpcDoor&, std::string& error);

}  // namespace hone
