"""`python -m polygpu`"""

from polygpu.cli import main

if __name__ == "__main__":
    main()
