"""Where rows lie: in memory, in files, on Dask workers, on Spark executors."""
