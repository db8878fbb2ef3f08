"""A certificate that generated kernels compute what their source does: translation validation with isl.

Trusted: the scop (`region.scop`), with the folds and histograms that `analysis` has written out in it, and
its reading as sets (`analysis.polyhedra`, and `without` some actions), isl's sets (its maxima are checked,
its dataflow analysis is not used), and the printers of Kernel IR. Not trusted, and not looked at: schedules,
mappings, placements, lowering. Two hints are taken. One is the `origin` of an action, the source instance it
claims to carry out; a claim that is not true of the expressions makes a failure, never a proof. The other is
which actions of the source are `dead`: kernels are compared with the source without these, in which all that
is left matters.

Method. A symbolic walk of the host program and the kernels (`walk`) gives for each memory access the set of
its executions: host loops, block, thread, loops, with the array element as a quasi-affine function of these.
  barriers     each barrier's executions are all threads of the block, or none.
  bounds       no execution of an access lies outside of its array; host, device memory and kernels lay arrays
               out alike, and all that the source may touch is copied, nothing of it behind the device's
               memory (`layouts`).
  ranges       no integer computed of sizes and indices overflows its type: all else takes them for unbounded.
  values       a value read from shared or private memory is followed, by dataflow analysis and through
               any number of copies, none of which converts it, to the load or the instance that made it. A
               loaded element must be the source's; an instance must be the writer that the dataflow of the
               source names. This needs a total order: no two threads may touch a shared element in one
               barrier interval unless both read (`races`), and asynchronous copies must be waited for.
               A temporary that holds what an array held in the beginning (`initial`) stands for that where
               the source reads what was there before the region.
  dependences  loads and stores of global memory stand for source instances. Of any two that touch an element,
               one of them a store, the one that the source has first comes first on the device.
               What is loaded was stored by the instance the source reads from.
  instances    each instance of the source is executed, no other one stores, and the last value of every
               element that is live afterwards is stored and copied back. What is left out of the source is
               nothing that the rest of it reads or that outlives the region, by the dataflow of the whole
               (`demand`).
Why this suffices: follow any value the program leaves behind backwards. It was stored by the last writer in
the source; each operand of that instance came, on the chip or through memory, from the same writer as in the
source, and so on down to elements nobody wrote, whose old contents were copied in.
"""
