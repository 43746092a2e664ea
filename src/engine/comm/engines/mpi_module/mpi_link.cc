// libhone_mpi.so: the interface of ../link_module.h over Open MPI, in processes that mpirun or srun
// started. Messages only; MPI's own reductions are not used.
#include <mpi.h>

#include <algorithm>
#include <atomic>
#include <vector>

#include "engine/comm/engines/link_module.h"

namespace hone {
namespace {

constexpr size_t kMostPiece = size_t{1} << 30;  // MPI counts in int
constexpr int kEagerTests = 2000;               // before the thread sleeps between tests
constexpr double kTestPauseS = 20e-6;

std::string mpi_reason(int code) {
  char text[MPI_MAX_ERROR_STRING] = {};
  int length = 0;
  MPI_Error_string(code, text, &length);
  return {text, static_cast<size_t>(length)};
}

// MPI is initialised once and finalised when the process exits; not after a fault, because the
// other ranks may be gone and MPI_Finalize would wait for them.
struct MpiProcess {
  bool start(std::string& error) {
    int is_started = 0, threads = MPI_THREAD_SINGLE;
    MPI_Initialized(&is_started);
    if (is_started == 0) {
      MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &threads);
      is_ours = true;
    } else {
      MPI_Query_thread(&threads);
    }
    if (threads == MPI_THREAD_MULTIPLE) return true;
    error = "this MPI does not allow several threads (MPI_THREAD_MULTIPLE)";
    return false;
  }
  ~MpiProcess() {
    int is_over = 0;
    if (!is_ours || is_faulty) return;
    MPI_Finalized(&is_over);
    if (is_over == 0) MPI_Finalize();
  }
  bool is_ours = false;
  std::atomic<bool> is_faulty{false};
};
MpiProcess the_process;

class MpiLink : public Link {
 public:
  explicit MpiLink(const LinkRequest& r)
      : rank_(r.rank), patience_s_(r.exchange_s), clock_(*r.clock) {}
  ~MpiLink() override {
    if (comm_ != MPI_COMM_NULL && !the_process.is_faulty) MPI_Comm_free(&comm_);
  }

  // A communicator of its own, whose ranks are those of the run.
  bool connect(const LinkRequest& r, std::string& error) {
    if (!the_process.start(error)) return false;
    int size = 0, rank = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size != r.ranks) {
      error = "MPI has " + std::to_string(size) + " processes and the run has " +
              std::to_string(r.ranks) + " ranks: start them with mpirun or srun";
      return false;
    }
    MPI_Comm_split(MPI_COMM_WORLD, 0, r.rank, &comm_);
    MPI_Comm_rank(comm_, &rank);
    MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN);
    if (rank == r.rank) return true;
    error = "two processes of MPI have the rank " + std::to_string(r.rank) + " of the run";
    return false;
  }

  bool transfer(std::span<const Send> sends, std::span<const Receive> receives,
                Fault& fault) override {
    requests_.clear();
    pieces_.clear();
    if (post(sends, receives, fault) && finish(fault)) return true;
    is_over_ = true;
    the_process.is_faulty = true;
    for (MPI_Request& q : requests_) {
      if (q == MPI_REQUEST_NULL) continue;
      MPI_Cancel(&q);
      MPI_Request_free(&q);
    }
    return false;
  }

  void wake() override { is_over_ = true; }

 private:
  struct Piece {
    int peer;
    int receives;  // bytes; -1: it is sent
  };

  bool post(std::span<const Send> sends, std::span<const Receive> receives, Fault& fault) {
    const auto cut = [&](int peer, size_t bytes, bool is_received, auto&& start) {
      for (size_t at = 0; at < bytes; at += kMostPiece) {
        const auto length = static_cast<int>(std::min(kMostPiece, bytes - at));
        MPI_Request request = MPI_REQUEST_NULL;
        const int code = start(at, length, &request);
        if (code != MPI_SUCCESS) {
          fault = {peer, mpi_reason(code)};
          return false;
        }
        requests_.push_back(request);
        pieces_.push_back({peer, is_received ? length : -1});
      }
      return true;
    };
    for (const Receive& r : receives)
      if (!cut(r.from, r.bytes.size(), true, [&](size_t at, int length, MPI_Request* request) {
            return MPI_Irecv(r.bytes.data() + at, length, MPI_BYTE, r.from, 0, comm_, request);
          }))
        return false;
    for (const Send& s : sends)
      if (!cut(s.to, s.bytes.size(), false, [&](size_t at, int length, MPI_Request* request) {
            return MPI_Isend(s.bytes.data() + at, length, MPI_BYTE, s.to, 0, comm_, request);
          }))
        return false;
    return true;
  }

  // Tests instead of waiting, so that wake() ends it and the core is free for the computation.
  bool finish(Fault& fault) {
    statuses_.resize(requests_.size());
    const double end = clock_.seconds() + patience_s_;
    for (int64_t tests = 0; !is_over_; ++tests) {
      int is_done = 0;
      const int code = MPI_Testall(static_cast<int>(requests_.size()), requests_.data(), &is_done,
                                   statuses_.data());
      if (code != MPI_SUCCESS) {
        fault = first_fault(code);
        return false;
      }
      if (is_done != 0) return check_lengths(fault);
      if (tests < kEagerTests) continue;
      clock_.sleep(kTestPauseS);
      if (clock_.seconds() > end) break;
    }
    fault = {rank_, is_over_ ? "communication has ended" : "no message came in time"};
    for (size_t i = 0; i < requests_.size(); ++i) {
      int is_done = 0;
      if (requests_[i] == MPI_REQUEST_NULL) continue;
      MPI_Request_get_status(requests_[i], &is_done, MPI_STATUS_IGNORE);
      if (is_done != 0) continue;
      fault.peer = pieces_[i].peer;
      break;
    }
    return false;
  }

  bool check_lengths(Fault& fault) {
    for (size_t i = 0; i < pieces_.size(); ++i) {
      int got = 0;
      if (pieces_[i].receives < 0) continue;
      MPI_Get_count(&statuses_[i], MPI_BYTE, &got);
      if (got == pieces_[i].receives) continue;
      fault = {pieces_[i].peer, "it sent " + std::to_string(got) + " bytes instead of " +
                                    std::to_string(pieces_[i].receives)};
      return false;
    }
    return true;
  }

  Fault first_fault(int code) const {
    for (size_t i = 0; code == MPI_ERR_IN_STATUS && i < statuses_.size(); ++i) {
      const int its = statuses_[i].MPI_ERROR;
      if (its != MPI_SUCCESS && its != MPI_ERR_PENDING) return {pieces_[i].peer, mpi_reason(its)};
    }
    return {pieces_.empty() ? rank_ : pieces_[0].peer, mpi_reason(code)};
  }

  int rank_;
  double patience_s_;
  Clock& clock_;
  MPI_Comm comm_ = MPI_COMM_NULL;
  // Members of the running transfer:
  std::vector<MPI_Request> requests_;
  std::vector<MPI_Status> statuses_;
  std::vector<Piece> pieces_;
  std::atomic<bool> is_over_{false};
};

}  // namespace
}  // namespace hone

extern "C" __attribute__((visibility("default"))) hone::Link* hone_mpi_link(
    int version, const hone::LinkRequest& request, hone::LinkKeys&, std::string& error) {
  if (version != hone::kLinkModuleVersion) {
    error = "libhone_mpi.so belongs to another version of hone";
    return nullptr;
  }
  auto link = std::make_unique<hone::MpiLink>(request);
  return link->connect(request, error) ? link.release() : nullptr;
}
