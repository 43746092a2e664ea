// The interface between hone and libhone_grpc.so, the only code that includes gRPC.
//
// The module is a separate shared library, loaded only if a server answers gRPC calls, because gRPC's libraries take
// longer to load than everything else that hone does at its start. It passes the tensors of ModelInfer calls to the
// server, and turns every other call into a request to the server's HTTP routes of the v2 protocol, so that HTTP and
// gRPC give the same answers.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "operate/serve/protocol/tensor.h"

namespace hone {

// The version of this interface. A module that was built with another version does not start.
inline constexpr int kGrpcModuleVersion = 3;

// Limits for clients. A connection may run kGrpcMostStreams calls at once. For all connections together, gRPC may hold
// messages of at most kGrpcLeastBytes (256 MiB), or of kGrpcMostMessages (8) times GrpcRequest::most_bytes if this is
// more. At this limit gRPC stops reading, and finally cancels calls.
inline constexpr int kGrpcMostStreams = 128;
inline constexpr int64_t kGrpcLeastBytes = int64_t{256} << 20, kGrpcMostMessages = 8;

// The server that answers the calls; hone implements it. The module may call its functions on any thread.
class GrpcDoor {
 public:
  using Headers = std::vector<std::pair<std::string, std::string>>;
  struct Caller {
    Headers headers;     // must have x-request-id
    std::string client;  // the client's address in gRPC's form: "ipv4:127.0.0.1:41234"
  };
  // Returns the id of a request with these headers. The module puts it into Caller::headers and into the answer.
  virtual std::string request_id(const Headers& headers) = 0;
  struct Answer {
    int status = 500;  // HTTP status
    std::string body = {};
  };
  // Sends a request to a route. `done` is called once, on any thread. If the client leaves, call the returned function:
  // it cancels the request.
  virtual std::function<void()> ask(std::string method, std::string path, Caller caller,
                                    std::string body, std::function<void(Answer)> done) = 0;

  // The parameters of a ModelInfer call, by name.
  using Parameters =
      std::vector<std::pair<std::string, std::variant<bool, int64_t, double, std::string>>>;
  struct Inferred {
    int status = 500;          // HTTP status; 200: `answer` is valid
    std::string error = {};    // one line, unless the status is 200
    TensorAnswer answer = {};  // its outputs have their values in InferTensor::bytes
  };
  // Answers a ModelInfer call. The inputs may have their values in InferTensor::bytes. For `done` and the returned
  // function see ask().
  virtual std::function<void()> infer(TensorQuestion question, const Parameters& parameters,
                                      Caller caller, std::function<void(Inferred)> done) = 0;

 protected:
  ~GrpcDoor() = default;
};

class GrpcListener {
 public:
  virtual ~GrpcListener() = default;
  virtual int port() const = 0;
  // Refuses new calls. Gives the open calls at most `seconds` to finish, and then cancels them.
  virtual void stop(double seconds) = 0;
};

struct GrpcRequest {
  std::string address;           // "127.0.0.1:8001"; port 0: the kernel chooses a free port
  std::string certificate, key;  // contents of PEM files; both "": no TLS
  int64_t most_bytes = 0;        // limit for the bytes of a received message
};
// The type of the module's only exported function, "hone_grpc_start", which starts to listen. The caller owns the
// result. Returns null and sets `error` if it cannot listen, or if `version` is not the module's kGrpcModuleVersion.
using GrpcStart = GrpcListener* (*)(int version, const GrpcRequest&, GrpcDoor&, std::string& error);

}  // namespace hone
